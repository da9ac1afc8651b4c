"""The roofline score of a time, and its distance from the floor."""

from __future__ import annotations

import pytest

from robust_kbench.leaderboard.roofline import geometric_mean, mean, plausible, share, sol_score


@pytest.mark.parametrize(
    ("time_us", "score"), [(100.0, 0.5), (20.0, 1.0), (60.0, 2 / 3), (180.0, 1 / 3), (15.0, 1.0)], ids=str
)
def test_the_score_is_a_half_at_the_baseline_and_one_at_the_floor(time_us: float, score: float) -> None:
    assert sol_score(time_us, 100.0, 20.0) == pytest.approx(score)


def test_the_score_is_the_formula_of_its_source() -> None:
    time_us, baseline_us, floor_us = 37.0, 91.0, 13.0
    expected = 1 / (1 + (time_us - floor_us) / (baseline_us - floor_us))
    assert sol_score(time_us, baseline_us, floor_us) == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize(("baseline_us", "floor_us"), [(20.0, 20.0), (10.0, 20.0), (10.0, None), (10.0, 0.0)])
def test_without_a_way_to_go_there_is_no_score(baseline_us: float, floor_us: float | None) -> None:
    assert sol_score(5.0, baseline_us, floor_us) is None


def test_the_share_is_of_the_floor() -> None:
    assert share(50.0, 20.0) == pytest.approx(0.4)
    assert share(50.0, None) is None


@pytest.mark.parametrize("us", [None, 0.0, -1.0, 1e300])
def test_what_is_no_time_is_none(us: float | None) -> None:
    assert plausible(us) is None


def test_a_mean_needs_all_of_its_values() -> None:
    assert mean([0.2, 0.4]) == pytest.approx(0.3)
    assert geometric_mean([0.2, 0.8]) == pytest.approx(0.4)
    for of in (mean, geometric_mean):
        assert of([0.2, None]) is None
        assert of([]) is None
