from __future__ import annotations

import random

import pytest
import torch
from scipy.stats import ks_2samp
from specimens import make_case, make_task

from robust_kbench.audit.emulated import summed_in_turn
from robust_kbench.cases import bank
from robust_kbench.cases.bank import Bank
from robust_kbench.cases.distributions import Form, make_uneven
from robust_kbench.cases.values import make_inputs
from robust_kbench.oracle.three_metrics import ThreeMetrics
from robust_kbench.registry import load_task
from robust_kbench.schema.case import Case
from robust_kbench.schema.task import TIMED_DISTRIBUTIONS, Distribution

AXES = {
    "norm/rmsnorm": {"rows": 256, "cols": 512},
    "activation/softmax_backward": {"rows": 64, "cols": 512},
    "random/dropout": {"rows": 4, "cols": 8},
    "loss/cross_entropy": {"rows": 64, "classes": 512},
}


def case(task: str, distribution: Distribution = "normal", seed: int = 1) -> Case:
    return Case(axes=AXES[task], dtype="float32", distribution=distribution, seed=seed, role="timed")


def drawn(task: str, count: int, distribution: Distribution = "normal") -> list[dict[str, torch.Tensor]]:
    spec = load_task(task).spec
    bank = Bank(spec, case(task))
    return [bank.draw(case(task, distribution, seed)).tensors for seed in range(count)]


def test_inputs_have_the_shapes_and_dtypes_of_the_case() -> None:
    (tensors,) = drawn("norm/rmsnorm", 1)
    assert {name: (tensor.shape, tensor.dtype) for name, tensor in tensors.items()} == {
        "x": ((256, 512), torch.float32),
        "weight": ((512,), torch.float32),
    }


@pytest.mark.rotating
def test_no_two_calls_have_values_in_common() -> None:
    # Not moved by some places either: a kernel could find out by how many, and keep what it has computed of them.
    calls = [tensors["x"].flatten() for tensors in drawn("norm/rmsnorm", 12)]
    for number, one in enumerate(calls):
        for other in calls[:number]:
            assert torch.isin(one, other).float().mean() < 0.01  # equal by chance: floats of everyday size are dense


def test_offsets_ascend_in_timed_calls_too() -> None:
    index = {"shape": ["cols"], "role": "index", "dtype": "int64", "below": 1000, "offsets": True}
    spec = make_task(inputs={"start": index})
    one = make_case(axes={"rows": 1, "cols": 64}, role="timed")
    bank = Bank(spec, one)
    calls = [bank.draw(one).tensors["start"] for _ in range(6)]
    assert all(bool((call.diff() >= 0).all()) and call[[0, -1]].tolist() == [0, 999] for call in calls)
    assert len({tuple(call.tolist()) for call in calls}) == 6


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


@pytest.mark.parametrize("distribution", [each for each in TIMED_DISTRIBUTIONS if each != "uneven"])
def test_mixed_values_are_of_the_same_law_as_drawn_ones(distribution: Distribution) -> None:
    (tensors,) = drawn("norm/rmsnorm", 1, distribution)
    plain = make_inputs(load_task("norm/rmsnorm").spec, case("norm/rmsnorm", distribution)).tensors
    for name in ("x", "weight"):
        assert ks_2samp(tensors[name].flatten().numpy(), plain[name].flatten().numpy()).pvalue > 1e-4


@pytest.mark.parametrize("distribution", ["normal", "uniform", "lognormal"])
def test_the_last_bits_of_mixed_values_do_not_tell_them_from_drawn_ones(distribution: Distribution) -> None:
    """Sums of rounded numbers end in zeros near zero, and sums of fractions are rounded once more."""

    def shares(values: torch.Tensor) -> list[float]:
        near = values[values.abs() < (1 / 4 if distribution == "lognormal" else 1 / 64)].view(torch.int32)
        return [float((near & mask == 0).float().mean()) for mask in (1, 3, 7, 15)]

    inputs = [tensors["x"].flatten() for tensors in drawn("norm/rmsnorm", 20, distribution)]
    task = load_task("norm/rmsnorm").spec
    plain = [make_inputs(task, case("norm/rmsnorm", distribution, seed)).tensors["x"].flatten() for seed in range(20)]
    assert shares(torch.cat(inputs)) == pytest.approx(shares(torch.cat(plain)), abs=0.03)


def test_sums_of_values_are_not_known_from_the_streams_that_they_are_mixed_of() -> None:
    """A kernel that knows both streams gets no sum of values from differences of running sums, at any distance."""
    streams = bank._Streams(bank._MIXES["normal"], 1 << 16, 1 << 12, torch.Generator().manual_seed(5))
    assert streams._signs is not None
    count, errors = 1 << 10, list[float]()
    for seed in range(40):
        source = random.Random(seed)
        found = streams.take(count, source)
        again = random.Random(seed)
        one, other = again.randrange(1 << 12), again.randrange(1 << 12)
        plain = streams._one[one : one + count] + streams._other[other : other + count]
        assert torch.allclose(found.abs(), plain.abs(), atol=1e-4)
        assert 0.35 < float((found * plain < 0).float().mean()) < 0.65
        errors.append(min(abs(float(found.sum() - plain.sum())), abs(float(found.sum() + plain.sum()))))
    assert sorted(errors)[20] > 4.0  # deviations of a sum: 32


def test_needles_are_somewhere_else_in_every_call() -> None:
    places = [
        set((tensors["x"].abs() > 20).flatten().nonzero().flatten().tolist())
        for tensors in drawn("norm/rmsnorm", 20, "needles")
    ]
    assert all(1 <= len(found) <= 8 for found in places)
    assert len(set.union(*places)) > sum(map(len, places)) - 4  # some may meet by chance


@pytest.mark.parametrize("along", [0, 1], ids=["columns", "rows"])
def test_rows_or_columns_of_a_call_are_uneven_each_in_its_own_way(along: int) -> None:
    calls = [tensors["x"] for tensors in drawn("norm/rmsnorm", 240, "uneven")]
    mine = [x for x in calls if _is_uneven(x, along) and not _is_uneven(x, 1 - along)]
    assert 8 <= len(mine) <= 55  # about an eighth; outside by chance once in 100,000 times
    scales = torch.stack([x.std(dim=along).log2().round() for x in mine])
    assert len(torch.unique(scales, dim=0)) == len(mine)
    assert int(scales.min()) == -10
    assert int(scales.max()) == 10


def test_uneven_calls_have_columns_of_different_levels_mostly_without_a_value_out_of_the_ordinary() -> None:
    calls = [tensors["x"] for tensors in drawn("norm/rmsnorm", 120, "uneven")]
    shaded = [x for x in calls if float(x.abs().max()) < 5 and float(x.mean(0).std()) > 0.25]
    levelled = [x for x in calls if 5 <= float(x.abs().max()) < 14 and float(x.mean(0).std()) > 0.25]
    assert 50 <= len(shaded) <= 94  # about six tenths; outside by chance once in 10,000 times
    assert 8 <= len(levelled) <= 42  # about two tenths
    assert len({tuple((x.mean(0) * 4).round().tolist()) for x in shaded}) == len(shaded)


def test_neither_every_eighth_column_nor_the_first_ones_tell_of_a_shaded_sum_of_exponentials() -> None:
    generator, told = torch.Generator().manual_seed(1), [0, 0]
    for _ in range(100):
        x = make_uneven(torch.randn((16, 8192), generator=generator), generator, torch.bfloat16, ("shades",)).double()
        whole, eighth, first = (float(some.exp().mean().log()) for some in (x, x[:, ::8], x[:, :1024]))
        told = [count + (abs(look - whole) < 0.05) for count, look in zip(told, (eighth, first), strict=True)]
    assert max(told) <= 30


@pytest.mark.parametrize("form", ["levels", "shades"])
@pytest.mark.parametrize("is_transposed", [False, True])
def test_a_plain_loop_over_products_with_shaded_values_is_far_from_its_limits(is_transposed: bool, form: Form) -> None:
    """The sums do not go far away and come back. One float32 accumulator would lose the rest of such a sum."""
    generator, length = torch.Generator().manual_seed(5), 1024
    ratios = []
    for _ in range(200):
        a = make_uneven(torch.randn((8, length), generator=generator), generator, torch.float32, ("shades",))
        shape = (8, length) if is_transposed else (length, 8)
        b = make_uneven(torch.randn(shape, generator=generator), generator, torch.float32, (form,))
        columns = b if is_transposed else b.T
        rule = ThreeMetrics(a.double() @ columns.T.double(), None, dtype=torch.float32, reduction=length + 32)
        ratios.append(rule.judge(summed_in_turn(a[:, None] * columns)).ratio)
    assert max(ratios) < 0.3


@pytest.mark.parametrize(("distribution", "deviation"), [("normal", 1.0), ("uniform", 12**-0.5), ("lognormal", 1.9)])
def test_upstream_gradients_are_of_more_than_one_law(distribution: Distribution, deviation: float) -> None:
    (tensors,) = drawn("activation/softmax_backward", 1, distribution)
    assert tensors["grad_y"].std() == pytest.approx(deviation, rel=0.1)


def test_seeds_of_timed_calls_are_not_among_those_that_a_task_names() -> None:
    spec = load_task("random/dropout").spec
    bank = Bank(spec, case("random/dropout"))
    seeds = {int(bank.draw(case("random/dropout", seed=seed)).values["seed"]) for seed in range(100)}
    assert len(seeds) == 100
    assert not seeds & set(spec.inputs["seed"].choices)
    assert 2**52 < max(seeds) < 2**53


def _is_uneven(x: torch.Tensor, along: int) -> bool:
    """Tell if its slices across that axis are of very different size."""
    return float(x.std(dim=along).log2().std()) > 3


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
