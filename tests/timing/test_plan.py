from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

import pytest

from robust_kbench.schema.record import StopReason, Tier
from robust_kbench.timing.plan import PLANS, Plan, plan_for

PLAN = Plan(sessions=3, min_rounds=10, max_rounds=50, max_seconds=5.0, precision=0.01, more_sessions=2)
WIDE = [0.0, 1.0] * 25
NARROW = [0.5] * 50


@pytest.mark.parametrize(
    ("logs", "rounds", "seconds", "stop"),
    [
        (NARROW, 9, 1.0, None),
        (NARROW, 10, 1.0, "precision"),
        (WIDE, 10, 1.0, None),
        (WIDE, 49, 1.0, None),
        (WIDE, 50, 1.0, "rounds"),
        (WIDE, 9, 6.0, None),
        (WIDE, 10, 6.0, "time"),
        (WIDE, 10, 5.0, None),
        ([], 10, 1.0, None),
        ([], 50, 1.0, "rounds"),
    ],
    ids=[
        "precise too early", "precise", "imprecise", "imprecise near the end", "at the maximum", "late but too few",
        "late", "just in time", "no baseline", "no baseline at the maximum",
    ],
)  # fmt: skip
def test_a_session_ends_on_precision_on_rounds_or_on_time(
    logs: Sequence[float], rounds: int, seconds: float, stop: StopReason | None
) -> None:
    assert PLAN.stop(logs[:rounds], rounds, seconds) == stop


@pytest.mark.parametrize("shift", [-5.0, -0.02, 0.0, 0.02, 5.0])
def test_whether_a_session_ends_does_not_depend_on_who_is_faster(shift: float) -> None:
    narrow, wide = [shift + 0.001 * (step % 3) for step in range(12)], [shift + 0.1 * (step % 3) for step in range(12)]
    assert PLAN.stop(narrow, 12, 1.0) == "precision"
    assert PLAN.stop(wide, 12, 1.0) is None


@pytest.mark.parametrize(("half_width", "stop"), [(0.009, "precision"), (0.011, None)])
def test_a_session_ends_when_half_the_interval_is_below_the_precision(half_width: float, stop: str | None) -> None:
    assert PLAN.stop([-half_width, half_width] * 6, 12, 1.0) == stop


@pytest.mark.parametrize(("rounds", "seconds", "is_warm"), [(3, 0.25, True), (2, 9.0, False), (99, 0.24, False)])
def test_the_first_sample_comes_after_enough_rounds_and_enough_time(rounds: int, seconds: float, is_warm: bool) -> None:
    assert PLAN.is_warm(rounds, seconds) == is_warm


@pytest.mark.parametrize("shift", [-0.5, 0.0, 0.5])
def test_sessions_that_disagree_ask_for_more_of_them_whoever_is_faster(shift: float) -> None:
    agreeing = [[shift + 0.001 * each] * 10 for each in range(3)]
    differing = [[shift + 0.1 * each] * 10 for each in range(3)]
    assert not PLAN.wants_more(agreeing)
    assert PLAN.wants_more(differing)


@pytest.mark.parametrize(("shift", "wants_more"), [(0.4, True), (-0.4, True), (3.0, False), (-3.0, False)])
def test_a_ratio_that_is_far_from_one_need_not_be_known_as_precisely(shift: float, wants_more: bool) -> None:
    logs = [[shift + 0.02 * each] * 10 for each in (-1, 0, 1)]  # half the interval is 0.05
    assert plan_for("full", "cuda").wants_more(logs) == wants_more
    assert plan_for("full", "cpu").wants_more(logs) == wants_more
    assert plan_for("final", "cpu").wants_more(logs)


@pytest.mark.parametrize(("resolution", "wants_more"), [(0.03, True), (0.036, False)])
def test_no_session_is_added_for_what_the_clock_makes_by_chance(resolution: float, wants_more: bool) -> None:
    logs = [[0.02 * each] * 10 for each in (-1, 0, 1)]
    assert PLAN.wants_more(logs, resolution) == wants_more


def test_there_is_an_end_to_further_sessions() -> None:
    differing = [[0.1 * each] * 10 for each in range(5)]
    assert PLAN.wants_more(differing[:4])
    assert not PLAN.wants_more(differing)


@pytest.mark.parametrize("tier", get_args(Tier))
def test_every_plan_can_end_by_precision_before_it_ends_by_rounds(tier: Tier) -> None:
    plan = PLANS[tier]
    assert 6 <= plan.min_rounds < plan.max_rounds  # below six samples there is no interval of 95 %
    assert plan.warm_up_rounds >= 1
    assert 0.2 <= plan.full_rule_share < 1


@pytest.mark.parametrize("tier", ["full", "final"])
def test_what_may_be_ranked_is_warmed_up_for_a_quarter_of_a_second(tier: Tier) -> None:
    assert PLANS[tier].warm_up_seconds >= 0.25


def test_larger_tiers_measure_more() -> None:
    quick, full, final = (PLANS[tier] for tier in ("quick", "full", "final"))
    assert quick.sessions < full.sessions < final.sessions
    rounds = [plan.sessions * plan.max_rounds for plan in (quick, full, final)]
    assert rounds == sorted(set(rounds))
    assert quick.max_seconds < full.max_seconds < final.max_seconds
