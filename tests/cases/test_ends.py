"""The probe `ends`: it makes the terms behind a kernel's last whole vector, little of a long sum, a third of it."""

from __future__ import annotations

import pytest
import torch

from robust_kbench.cases.suite import BUDGETS, draw_suite
from robust_kbench.cases.values import make_inputs
from robust_kbench.oracle.reference import Reference
from robust_kbench.oracle.verdict import Judge
from robust_kbench.registry import load_task
from robust_kbench.schema.case import Case
from robust_kbench.schema.record import Tier
from robust_kbench.schema.task import FloatDType

_LONG = 1 << 17
_SUMS_OVER_ALL = ("loss/mse", "loss/huber", "norm/frobenius_norm", "optim/grad_clip", "reduction/global_grad_norm")


def _ends(name: str, tier: Tier, seed: int) -> list[Case]:
    task = load_task(name).spec
    suite = draw_suite(task, seed, budget=BUDGETS[tier], dtypes=task.dtypes, device="cpu", dense=False)
    return [case for case in suite.checked if case.probe == "ends"]


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_the_first_and_the_last_of_many_elements_are_a_third_of_the_sum_each(dtype: FloatDType) -> None:
    case = Case(axes={"rows": 1021, "cols": 513}, dtype=dtype, seed=3, probe="ends")
    tensors = make_inputs(load_task("loss/mse").spec, case).tensors
    squares = tensors["prediction"].double().square().reshape(-1)
    assert not tensors["target"].any()
    for end in (squares[0], squares[-1]):
        assert 0.3 < end / squares.sum() < 0.37


@pytest.mark.parametrize("name", _SUMS_OVER_ALL)
def test_sums_over_whole_tensors_have_long_ones_at_every_tier(name: str) -> None:
    for tier in ("quick", "full"):
        sizes = [
            sum(map(torch.numel, make_inputs(load_task(name).spec, case).tensors.values()))
            for case in _ends(name, tier, 5)
        ]
        assert max(sizes) >= _LONG


@pytest.mark.parametrize("name", ["loss/mse", "loss/huber"])
def test_a_tail_that_is_left_out_of_a_long_sum_is_seen(name: str) -> None:
    """Both tasks passed without the tail at tier full: 131,072 terms less a warp are within the limit of any order."""
    task = load_task(name)
    reference = Reference(task)
    judge = Judge(task.spec, reference)
    usual = Case(axes={"rows": 1021, "cols": 513}, dtype="float32", seed=3)
    for case, is_seen in ((usual, False), (usual.model_copy(update={"probe": "ends"}), True)):
        inputs = make_inputs(task.spec, case)
        without = {key: tensor.reshape(-1)[:-1].reshape(1, -1) for key, tensor in inputs.tensors.items()}
        count = inputs.tensors["target"].numel()
        answer = reference.native(type(inputs)(without))["loss"] * ((count - 1) / count)
        judgement = judge.expect(case, inputs).judge({"loss": answer})["loss"]
        assert judgement.is_accepted is not is_seen
