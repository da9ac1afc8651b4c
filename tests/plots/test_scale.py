"""Axes and their ticks."""

from __future__ import annotations

import math

import pytest

from robust_kbench.plots.scale import Scale, speedup_scale, ticks, time_scale
from robust_kbench.timing.statistics import Ratio


def test_a_narrow_spread_is_linear_and_a_wide_one_logarithmic() -> None:
    assert not time_scale([100, 299]).is_log
    assert time_scale([100, 300]).is_log


def test_a_logarithmic_axis_puts_the_geometric_mean_in_the_middle() -> None:
    assert Scale(1, 100, is_log=True).at(10) == pytest.approx(0.5)
    assert Scale(1, 100, is_log=False).at(50.5) == pytest.approx(0.5)


@pytest.mark.parametrize("samples", [[5.0], [5.0, 5.0], [5.0, 5.001], [5.0, 9.0], [0.001, 4294967.295]])
def test_every_sample_lies_inside_its_axis_even_if_all_are_equal(samples: list[float]) -> None:
    scale = time_scale(samples)
    assert all(0 < scale.at(sample) < 1 for sample in samples)


def test_a_floor_widens_the_axis_unless_it_is_far_away() -> None:
    assert time_scale([100, 110], 50).has(50)
    assert time_scale([100, 110], 400).has(400)
    assert time_scale([100, 110], 0.5) == time_scale([100, 110])


def test_the_axis_of_speedups_always_holds_one() -> None:
    assert speedup_scale([Ratio(3, 2.9, 3.1)]).has(1.0)
    assert speedup_scale([]).has(1.0)


def test_bounds_that_no_axis_can_hold_are_at_its_ends() -> None:
    scale = speedup_scale([Ratio(2.0, 0.0, math.inf)])
    assert (scale.at(0.0), scale.at(math.inf)) == (0.0, 1.0)
    assert 0 < scale.at(2.0) < 1


@pytest.mark.parametrize(
    ("scale", "expected"),
    [
        (Scale(95, 121, is_log=False), [95, 100, 105, 110, 115, 120]),
        (Scale(0.98, 1.09, is_log=False), [0.98, 1.0, 1.02, 1.04, 1.06, 1.08]),
        (Scale(90, 700, is_log=True), [100, 200, 500]),
        (Scale(0.9, 1.1, is_log=True), [0.9, 0.95, 1.0, 1.05, 1.1]),
        (Scale(9, 2000, is_log=True), [10, 30, 100, 300, 1000]),
        (Scale(0.001, 5e6, is_log=True), [0.001, 0.1, 10, 1000, 100000]),
    ],
    ids=["hundreds", "hundredths", "a decade", "hardly logarithmic", "two decades", "everything"],
)
def test_ticks_are_round_and_few(scale: Scale, expected: list[float]) -> None:
    assert ticks(scale) == expected
