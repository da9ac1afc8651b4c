from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

import pytest

from robust_kbench.schema.record import Tier
from robust_kbench.timing.plan import PLANS, Plan

PLAN = Plan(sessions=1, warm_up_rounds=2, min_rounds=10, max_rounds=50, max_seconds=5.0, precision=0.01)
WIDE = [0.0, 1.0] * 25


@pytest.mark.parametrize(
    ("logs", "seconds", "is_enough"),
    [
        ([[0.5] * 9], 1.0, False),
        ([[0.5] * 10], 1.0, True),
        ([WIDE[:10]], 1.0, False),
        ([WIDE[:49]], 1.0, False),
        ([WIDE[:50]], 1.0, True),
        ([WIDE[:9]], 6.0, False),
        ([WIDE[:10]], 6.0, True),
        ([WIDE[:10]], 5.0, False),
        ([[0.5] * 10, WIDE[:10]], 1.0, False),
        ([[0.5] * 10, [0.7] * 10], 1.0, True),
        ([[]], 1.0, False),
        ([[]], 6.0, False),
        ([], 0.0, True),
    ],
    ids=[
        "precise too early", "precise", "imprecise", "imprecise near the end", "at the maximum", "late but too few",
        "late", "just in time", "one of two imprecise", "both precise", "nothing yet", "nothing in time", "no baseline",
    ],
)  # fmt: skip
def test_a_session_ends_on_precision_on_rounds_or_on_time(
    logs: Sequence[Sequence[float]], seconds: float, is_enough: bool
) -> None:
    assert PLAN.is_enough(logs, seconds) == is_enough


@pytest.mark.parametrize("shift", [-5.0, -0.02, 0.0, 0.02, 5.0])
def test_whether_a_session_ends_does_not_depend_on_who_is_faster(shift: float) -> None:
    narrow, wide = [shift + 0.001 * (step % 3) for step in range(12)], [shift + 0.1 * (step % 3) for step in range(12)]
    assert PLAN.is_enough([narrow], 1.0)
    assert not PLAN.is_enough([wide], 1.0)


@pytest.mark.parametrize(("half_width", "is_enough"), [(0.009, True), (0.011, False)])
def test_a_session_ends_when_half_the_interval_is_below_the_precision(half_width: float, is_enough: bool) -> None:
    logs = [-half_width, half_width] * 6
    assert PLAN.is_enough([logs], 1.0) == is_enough


@pytest.mark.parametrize("tier", get_args(Tier))
def test_every_plan_can_end_by_precision_before_it_ends_by_rounds(tier: Tier) -> None:
    plan = PLANS[tier]
    assert 6 <= plan.min_rounds < plan.max_rounds  # below six samples there is no interval of 95 %
    assert plan.warm_up_rounds >= 1
    assert 0 < plan.full_rule_share < 1


def test_larger_tiers_measure_more() -> None:
    quick, full, final = (PLANS[tier] for tier in ("quick", "full", "final"))
    assert quick.sessions < full.sessions < final.sessions
    rounds = [plan.sessions * plan.max_rounds for plan in (quick, full, final)]
    assert rounds == sorted(set(rounds))
    assert quick.max_seconds < full.max_seconds < final.max_seconds
