"""Published Triton kernels whose code for wide rows no checked case on a processor runs: such cases are too small."""

from __future__ import annotations

import pytest

from robust_kbench.evaluate import Evaluator
from robust_kbench.folders import data_folder
from robust_kbench.registry import read_submission
from robust_kbench.schema.case import Case
from robust_kbench.schema.record import Status

KERNELS = (
    "activation/softmax/triton_tile",
    "activation/softmax/triton_two_pass",
    "activation/log_softmax/triton_tile",
    "reduction/logsumexp/triton_online",
)


@pytest.mark.rotating
@pytest.mark.parametrize("probe", ["masked", None])
@pytest.mark.parametrize("kernel", KERNELS)
def test_rows_of_twenty_thousand_are_right_whatever_is_masked(
    kernel: str, probe: str | None, evaluator: Evaluator
) -> None:
    """One kernel began its maxima with -inf, and gave NaN where a lane met a masked logit first."""
    case = Case.model_validate({"axes": {"rows": 2, "cols": 20_000}, "dtype": "float32", "probe": probe, "seed": 3})
    record = evaluator.evaluate(read_submission(data_folder("baselines") / kernel), tier="quick", case=case)
    assert record.status is Status.PASSED, record.reason
