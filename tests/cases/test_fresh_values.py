from __future__ import annotations

import pytest
import torch

from robust_kbench.cases.bank import Bank
from robust_kbench.registry import load_task
from robust_kbench.schema.case import Case
from robust_kbench.schema.task import Distribution

AXES = {"norm/rmsnorm": {"rows": 64, "cols": 512}, "loss/cross_entropy": {"rows": 64, "classes": 512}}


def case(task: str, distribution: Distribution = "normal", seed: int = 1) -> Case:
    return Case(axes=AXES[task], dtype="float32", distribution=distribution, seed=seed, role="timed")


def drawn(task: str, count: int, distribution: Distribution = "normal") -> list[dict[str, torch.Tensor]]:
    spec = load_task(task).spec
    bank = Bank(spec, case(task))
    return [bank.draw(case(task, distribution, seed)).tensors for seed in range(count)]


def test_inputs_have_the_shapes_and_dtypes_of_the_case() -> None:
    (tensors,) = drawn("norm/rmsnorm", 1)
    assert {name: (tensor.shape, tensor.dtype) for name, tensor in tensors.items()} == {
        "x": ((64, 512), torch.float32),
        "weight": ((512,), torch.float32),
    }


def test_no_row_of_a_call_comes_back_as_a_row_of_another() -> None:
    rows = torch.cat([tensors["x"] for tensors in drawn("norm/rmsnorm", 40)])
    assert len(torch.unique(rows, dim=0)) == len(rows)


@pytest.mark.parametrize(("distribution", "mean", "deviation"), [("normal", 0.0, 1.0), ("uniform", 0.5, 12**-0.5)])
def test_the_values_of_every_call_are_of_the_distribution(
    distribution: Distribution, mean: float, deviation: float
) -> None:
    for tensors in drawn("norm/rmsnorm", 30, distribution):
        assert tensors["x"].mean() == pytest.approx(mean, abs=0.03)
        assert tensors["x"].std() == pytest.approx(deviation, abs=0.03)


def test_indices_stay_within_their_axis_and_vary() -> None:
    first, second = drawn("loss/cross_entropy", 2)
    assert int(first["target"].min()) >= 0
    assert int(first["target"].max()) < 512
    assert not torch.equal(first["target"], second["target"])


def test_parameters_vary_too() -> None:
    first, second = drawn("norm/rmsnorm", 2)
    assert not torch.equal(first["weight"], second["weight"])


def test_two_banks_of_one_case_hold_other_values() -> None:
    (one,), (other,) = drawn("norm/rmsnorm", 1), drawn("norm/rmsnorm", 1)
    assert not torch.equal(one["x"].flatten().sort().values, other["x"].flatten().sort().values)
