from __future__ import annotations

import random

import pytest
import torch
from scipy.stats import ks_2samp

from robust_kbench.cases.bank import Bank
from robust_kbench.cases.values import make_inputs
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


def test_no_two_calls_have_values_in_common() -> None:
    # Not moved by some places either: a kernel could find out by how many, and keep what it has computed of them.
    calls = [tensors["x"].flatten() for tensors in drawn("norm/rmsnorm", 12)]
    for number, one in enumerate(calls):
        for other in calls[:number]:
            assert torch.isin(one, other).float().mean() < 0.01  # equal by chance: floats of everyday size are dense


def test_distances_are_never_used_twice() -> None:
    bank = Bank(load_task("norm/rmsnorm").spec, case("norm/rmsnorm"))
    bank.draw(case("norm/rmsnorm"))
    streams = bank._streams["normal", "weight"]
    while not streams.is_used_up:
        before = len(streams._taken)
        streams.take(512, random.SystemRandom())
        assert len(streams._taken) == before + 1
    bank.draw(case("norm/rmsnorm"))
    assert bank._streams["normal", "weight"] is not streams


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


@pytest.mark.parametrize("distribution", ["normal", "uniform", "lognormal"])
def test_mixed_values_are_of_the_same_law_as_drawn_ones(distribution: Distribution) -> None:
    (tensors,) = drawn("norm/rmsnorm", 1, distribution)
    plain = make_inputs(load_task("norm/rmsnorm").spec, case("norm/rmsnorm", distribution)).tensors
    for name in ("x", "weight"):
        assert ks_2samp(tensors[name].flatten().numpy(), plain[name].flatten().numpy()).pvalue > 1e-4


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
