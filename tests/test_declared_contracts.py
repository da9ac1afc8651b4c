"""Whose precision contract a submission is held to: the task's, or a stricter one of its own."""

from __future__ import annotations

from dataclasses import replace

import pytest
from conftest import Submit

from robust_kbench.errors import SpecError
from robust_kbench.evaluate import Evaluator
from robust_kbench.registry import LoadedTask, load_task
from robust_kbench.schema.record import Status

ROUNDING = """
import torch

def rmsnorm(x, weight):
    x = x * 4097 - (x * 4097 - x)  # to twelve digits
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)
"""


@pytest.fixture
def lenient() -> LoadedTask:
    """The norm under a contract that lets kernels round to TF32."""
    task = load_task("norm/rmsnorm")
    return replace(task, spec=task.spec.model_copy(update={"precision": "tf32_ok"}))


def test_a_looser_contract_than_the_tasks_is_refused(evaluator: Evaluator, submit: Submit) -> None:
    with pytest.raises(SpecError, match="tf32_ok is looser than ieee, the contract of norm/rmsnorm; leave the key out"):
        evaluator.evaluate(submit(ROUNDING, precision="tf32_ok"), tier="quick")


@pytest.mark.rotating
def test_what_the_tasks_contract_allows_passes(evaluator: Evaluator, submit: Submit, lenient: LoadedTask) -> None:
    record = evaluator.evaluate(submit(ROUNDING), lenient, tier="quick")
    assert (record.status, record.precision) == (Status.PASSED, "tf32_ok"), record.reason


def test_a_stricter_contract_of_its_own_judges(evaluator: Evaluator, submit: Submit, lenient: LoadedTask) -> None:
    record = evaluator.evaluate(submit(ROUNDING, precision="ieee"), lenient, tier="quick")
    assert (record.status, record.precision) == (Status.INCORRECT, "ieee")
