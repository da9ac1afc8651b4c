"""Cost of isolation for an evaluation, by pytest-benchmark: run with `make perf`.

The same kernel is judged on the same case with every layer of the sandbox, by ordinary processes, and in the judge's
own process. The first less the last is the price of full isolation, building and starting included.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from conftest import needs_compiler

from robust_kbench.evaluate import Evaluator
from robust_kbench.folders import data_folder
from robust_kbench.redteam.corpus import Group
from robust_kbench.redteam.defences import without
from robust_kbench.registry import read_submission

pytestmark = [pytest.mark.slow, needs_compiler]
KERNELS = ["norm/rmsnorm/cpp_simd", "norm/rmsnorm/python_two_pass"]


@pytest.mark.parametrize("kernel", KERNELS, ids=["cpp", "python"])
@pytest.mark.parametrize(
    "off",
    [
        pytest.param((), id="all layers"),
        pytest.param(("sandbox",), id="ordinary processes"),
        pytest.param(("process boundary",), id="one process"),
    ],
)
def test_one_case_at_tier_quick(benchmark: Callable[..., Any], off: tuple[Group, ...], kernel: str) -> None:
    submission = read_submission(data_folder("baselines") / kernel)
    with without(off), Evaluator("cpu") as evaluator:
        evaluator.evaluate(submission, tier="quick", case=0, seed=1)  # starts the warm process, which is kept
        record = benchmark(evaluator.evaluate, submission, tier="quick", case=0, seed=1)
    assert record.status == "passed", record.reason
