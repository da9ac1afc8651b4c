"""Published kernels with functions of their own making keep well within the limit, over two million values at once.

A drawn case of a few thousand meets the worst of them too seldom.
"""

from __future__ import annotations

import pytest
from conftest import needs_compiler

from robust_kbench.evaluate import Evaluator
from robust_kbench.folders import data_folder
from robust_kbench.registry import read_submission
from robust_kbench.schema.case import Case
from robust_kbench.schema.record import Status

ENOUGH = 0.8  # of the limit: what the worst of two million values may come to


@pytest.mark.rotating
@needs_compiler
@pytest.mark.parametrize("distribution", ["small", "uniform"])
@pytest.mark.parametrize(
    "kernel", ["gelu/cpp_simd", "gelu/cpp_plain", "swish/cpp_simd", "tanh/cpp_simd", "swiglu/cpp_simd"]
)
def test_the_worst_of_two_million_results_is_well_within_the_limit(
    kernel: str, distribution: str, evaluator: Evaluator
) -> None:
    case = Case.model_validate(
        {"axes": {"rows": 1021, "cols": 2039}, "dtype": "float32", "distribution": distribution, "seed": 1}
    )
    submission = read_submission(data_folder("baselines") / "activation" / kernel)
    record = evaluator.evaluate(submission, tier="quick", case=case)
    assert record.status is Status.PASSED, record.reason
    errors, limits = record.cases[0].errors, record.cases[0].limits
    assert errors is not None
    assert limits is not None
    assert 0 < errors[0] <= ENOUGH * limits[0]
