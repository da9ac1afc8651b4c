from __future__ import annotations

import math
from typing import get_args

import pytest
import torch

from robust_kbench.cases.distributions import draw_values
from robust_kbench.schema.task import TIMED_DISTRIBUTIONS, Distribution

SHAPE = (256, 256)
EVERY = get_args(Distribution)
every_distribution = pytest.mark.parametrize("distribution", EVERY)


def _values(
    distribution: Distribution, shape: tuple[int, ...] = SHAPE, *, seed: int = 7, dtype: torch.dtype = torch.float32
) -> torch.Tensor:
    return draw_values(distribution, shape, torch.Generator().manual_seed(seed), dtype)


@every_distribution
@pytest.mark.parametrize("shape", [(), (1,), (7,), (5, 1), (2, 3, 4), (0,), (3, 0), (0, 4)])
def test_any_shape_is_filled_with_finite_values(distribution: Distribution, shape: tuple[int, ...]) -> None:
    values = _values(distribution, shape)
    assert values.shape == shape
    assert bool(values.isfinite().all())


@every_distribution
def test_no_distribution_is_zero_everywhere_or_the_same_for_two_seeds(distribution: Distribution) -> None:
    assert bool(_values(distribution).any())
    assert not torch.equal(_values(distribution), _values(distribution, seed=8))


def test_normal_values_have_mean_zero_and_variance_one() -> None:
    values = _values("normal")
    assert abs(float(values.mean())) < 0.02
    assert 0.98 < float(values.std()) < 1.02


def test_uniform_values_fill_the_unit_interval() -> None:
    values = _values("uniform")
    assert 0 <= float(values.min()) < 0.001
    assert 0.999 < float(values.max()) <= 1
    assert abs(float(values.mean()) - 0.5) < 0.01


def test_lognormal_values_range_over_orders_of_magnitude_in_both_signs() -> None:
    values = _values("lognormal")
    assert float(values.max()) / float(values.abs().min()) > 300
    assert 0.48 < float((values < 0).float().mean()) < 0.52
    assert abs(float(values.abs().log().std()) - 0.8) < 0.02


def test_integer_values_are_whole_and_take_each_value_from_minus_eight_to_eight() -> None:
    assert sorted(set(_values("integers").flatten().tolist())) == [float(value) for value in range(-8, 9)]


def test_large_values_are_thirty_times_as_wide() -> None:
    assert 29 < float(_values("large").std()) < 31


def test_sparse_values_are_zero_but_for_one_in_a_hundred() -> None:
    share = float((_values("sparse") != 0).float().mean())
    assert 0.008 < share < 0.012


def test_outliers_are_few_and_far() -> None:
    values = _values("outliers")
    assert 0.0005 < float((values.abs() > 6).float().mean()) < 0.004
    assert float(values.abs().median()) < 1


@pytest.mark.parametrize("seed", range(8))
def test_needles_are_a_handful_that_a_look_at_every_sixteenth_value_mostly_misses(seed: int) -> None:
    values = _values("needles", seed=seed)
    is_needle = values.abs() >= 30
    assert 1 <= int(is_needle.sum()) <= 8
    assert float(values.abs().max()) < 270
    assert float(_values("needles", seed=seed, dtype=torch.float16).abs().max()) < 90
    assert 0.9 < float(values[~is_needle].std()) < 1.1


def test_a_tensor_of_one_value_is_a_needle_and_an_empty_one_stays_empty() -> None:
    assert float(_values("needles", (1,)).abs()) >= 30
    assert _values("needles", (0, 4)).shape == (0, 4)


@pytest.mark.parametrize(("dtype", "most"), [(torch.float32, 10), (torch.bfloat16, 10), (torch.float16, 3)], ids=str)
def test_uneven_rows_or_columns_are_larger_or_smaller_by_powers_of_two(dtype: torch.dtype, most: int) -> None:
    found = set()
    for seed in range(48):
        values = _values("uneven", (1024, 1024), seed=seed, dtype=dtype)
        if _has_levels(values):
            continue  # see below
        for along in (0, 1):
            scales = values.std(dim=along).log2()
            if float((scales - scales.round()).abs().max()) < 0.15:
                orders = scales.round().int()
                is_periodic = any(torch.equal(orders[p:], orders[:-p]) for p in range(1, 65))
                found.add((along, int(orders.max()) > 0, is_periodic))
                assert -most <= int(orders.min()) <= int(orders.max()) <= most
    assert found >= {(0, False, True), (0, True, True), (1, False, False), (1, True, False)}
    assert (1, True, True) not in found


def test_an_eighth_of_the_rows_and_of_the_columns_seldom_tells_an_uneven_mean_square() -> None:
    found = []
    for seed in range(24):
        values = _values("uneven", (512, 512), seed=seed)
        means = [float(some.square().mean()) for some in (values[::8], values[:, ::8], values)]
        found.append(max(abs(mean / means[2] - 1) for mean in means[:2]) > 0.05)
    assert sum(found) > 16


def _has_levels(values: torch.Tensor) -> bool:
    """Tell if columns are shifted, and no row or column is multiplied."""
    return float(values.mean()) < -1 and float(values.max()) < 6


def test_uneven_columns_have_levels_of_which_neither_one_in_a_few_nor_the_first_ones_tell() -> None:
    shifted, told = 0, [0, 0]
    for seed in range(48):
        values = _values("uneven", (64, 4096), seed=seed).double()
        if not _has_levels(values):
            continue
        shifted += 1
        assert -8.6 < float(values.mean(0).min()) < float(values.mean(0).max()) < 0.6
        whole, eighth, first = (float(some.exp().mean().log()) for some in (values, values[:, ::8], values[:, :512]))
        told = [count + (abs(look - whole) < 0.05) for count, look in zip(told, (eighth, first), strict=True)]
    assert 14 <= shifted <= 34
    assert max(told) <= shifted / 3


def test_constant_rows_repeat_one_short_number_of_either_sign_and_differ_from_each_other() -> None:
    values = _values("constant")
    assert torch.equal(values, values[:, :1].expand(SHAPE))
    assert set((values[:, 0].abs() * 8).tolist()) == set(range(1, 32))
    assert 0.4 < float((values[:, 0] < 0).float().mean()) < 0.6


def test_a_sum_of_constant_values_is_exact_in_any_order() -> None:
    values = _values("constant", (64, 4099))
    assert torch.equal(values.sum(1), values[:, 0] * 4099)
    assert torch.equal(values.cumsum(1)[:, -1], values[:, 0] * 4099)


def test_one_hot_rows_hold_a_single_one_anywhere() -> None:
    values = _values("one_hot")
    assert torch.equal(values.sum(1), torch.ones(256))
    assert set(values.flatten().tolist()) == {0.0, 1.0}
    assert len(set(values.argmax(1).tolist())) > 100


def test_sorted_rows_are_in_order_upwards_for_some_seeds_and_downwards_for_others() -> None:
    steps = [_values("sorted", (4, 99), seed=seed).diff(dim=1).sign() for seed in range(12)]
    assert {frozenset(step.flatten().tolist()) for step in steps} == {frozenset({1.0}), frozenset({-1.0})}


def test_rows_of_low_rank_are_mixtures_of_two_up_to_a_little_noise() -> None:
    spectrum = torch.linalg.svdvals(_values("low_rank").double())
    assert float(spectrum[1]) > 100
    assert 0.1 < float(spectrum[2]) < 1


@pytest.mark.parametrize("cols", [256, 255])
def test_cancelling_rows_sum_to_a_small_part_of_their_terms(cols: int) -> None:
    values = _values("cancelling", (256, cols))
    assert 0.9 < float(values.std()) < 1.1
    assert 0.5 < float(values.sum(1).std()) / cols**0.5 * 16 < 1.5


@pytest.mark.parametrize(
    ("dtype", "size"), [(torch.float32, -10), (torch.bfloat16, -10), (torch.float64, -10), (torch.float16, -6)], ids=str
)
def test_small_values_have_the_scale_of_an_epsilons_root_and_squares_that_float16_holds(
    dtype: torch.dtype, size: int
) -> None:
    values = _values("small", dtype=dtype).to(dtype)
    assert round(math.log2(float(values.double().std()))) == size
    assert float(values.square().mean(dtype=torch.float64)) > 2 * torch.finfo(dtype).smallest_normal


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("epsilon", [1e-5, 0.0], ids=["another", "none"])
def test_on_small_values_a_wrong_epsilon_changes_a_norm_by_more_than_a_rounding(
    dtype: torch.dtype, epsilon: float
) -> None:
    """The right epsilon is 1e-6. Small halves change by 2 units of roundoff or more, normal values by 1e-5."""
    square = _values("small", dtype=dtype).to(dtype).double().square().mean()
    change = float(((square + 1e-6) / (square + epsilon)).sqrt()) - 1
    assert abs(change) > 2 * torch.finfo(dtype).eps


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64])
def test_subnormal_values_lie_below_the_smallest_normal_number_of_their_dtype(dtype: torch.dtype) -> None:
    values = _values("subnormal", dtype=dtype).to(dtype)
    is_subnormal = (values != 0) & (values.double().abs() < torch.finfo(dtype).smallest_normal)
    assert float(is_subnormal.float().mean()) > 0.95


def test_what_may_be_timed_is_dense_and_of_normal_range() -> None:
    for distribution in TIMED_DISTRIBUTIONS:
        values = _values(distribution)
        assert float((values == 0).float().mean()) < 0.001
        assert float(values.abs().max()) < 2**13
