"""Plan of sampling: how often, in which order, and when to stop: on precision, never on a sign or a significance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from robust_kbench.schema.record import StopReason, Tier
from robust_kbench.schema.task import DeviceKind
from robust_kbench.timing import statistics

_MOST_CHECKED = 0.7
_CHANCE = 1.5
"""Factor by which the half width of five sessions exceeds its expectation in one of twenty cases."""


@dataclass(frozen=True)
class Plan:
    """Sampling of one timed binding. A round holds one call of every contestant, in random order."""

    sessions: int
    min_rounds: int
    max_rounds: int
    max_seconds: float
    warm_up_rounds: int = 3
    warm_up_seconds: float = 0.25
    """Rounds and seconds of warm-up; both are reached before the first sample counts."""
    precision: float = 0.005
    """Half the interval of the log ratio below which a session stops."""
    more_sessions: int = 0
    """Number of sessions that may be added to a binding whose sessions agree less well than `session_precision`."""
    session_precision: float = 0.01
    relative_precision: float = 0.0
    """Share of the log ratio that sessions may differ by in any case: 0.050 need not be told from 0.051."""
    sharing: int = 3
    """Sessions among which the spot checks of a timed case are shared out, see spot_checks."""
    spares_reference: bool = False
    """True if the decomposition is not judged, and is dropped once eager PyTorch's operator is clearly faster."""
    full_rule_share: float = 0.2
    """Share of timed outputs, secretly drawn, that is judged against float64; the others against PyTorch."""

    def is_warm(self, rounds: int, seconds: float) -> bool:
        """Tell if the warm-up is over and the next round counts."""
        return rounds >= self.warm_up_rounds and seconds >= self.warm_up_seconds

    def check_share(self, left: int) -> float:
        """Return the share of the next rounds that a checking call follows, when so many such calls are left.

        They are spread over the rounds that are sure to be, and a few later: when all of those are over, no time is
        left.
        """
        return min(_MOST_CHECKED, left / self.min_rounds)

    def stop(self, logs: Sequence[float], rounds: int, seconds: float) -> StopReason | None:
        """Tell why a session ends, or None. `logs`: log ratios against the baseline that matters, if there is one."""
        if rounds >= self.min_rounds and logs and statistics.half_width(logs) <= self.precision:
            return "precision"
        if rounds >= self.max_rounds:
            return "rounds"
        return "time" if rounds >= self.min_rounds and seconds > self.max_seconds else None

    def wants_more(self, sessions: Sequence[Sequence[float]], resolution: float = 0.0) -> bool:
        """Tell if sessions with these log ratios differ so much that more of them are needed. Only the width decides.

        `resolution`: relative half width that the clock itself makes of so many.
        """
        if not self.plus(len(sessions)):
            return False
        low, mean, high = statistics.mean_interval([statistics.median(logs) for logs in sessions])
        enough = max(self.session_precision, self.relative_precision * abs(mean), _CHANCE * resolution)
        return (high - low) / 2 > enough

    def plus(self, taken: int) -> int:
        """Return the number of sessions that may still be added after `taken` ones."""
        return max(0, self.sessions + self.more_sessions - taken)


def plan_for(tier: Tier, device: DeviceKind) -> Plan:
    """Return the plan of a tier on a kind of device."""
    return DEVICE_PLANS.get(tier, PLANS[tier]) if device == "cuda" else PLANS[tier]


PLANS: dict[Tier, Plan] = {
    "quick": Plan(
        sessions=1, min_rounds=8, max_rounds=12, max_seconds=0.6, warm_up_rounds=3, warm_up_seconds=0.05,
        spares_reference=True,
    ),
    "full": Plan(
        sessions=5, min_rounds=16, max_rounds=80, max_seconds=1.0, more_sessions=3, session_precision=0.015,
        relative_precision=0.05,
    ),
    "final": Plan(sessions=7, min_rounds=30, max_rounds=60, max_seconds=20.0, more_sessions=3),
}  # fmt: skip
DEVICE_PLANS: dict[Tier, Plan] = {
    "full": Plan(
        sessions=5, min_rounds=6, max_rounds=24, max_seconds=0.15, warm_up_rounds=1, warm_up_seconds=0.0,
        more_sessions=2, session_precision=0.015, relative_precision=0.05, sharing=5,
    )
}  # fmt: skip
"""Plans on a CUDA device: fewer rounds than on a processor.

The checks of sessions beside the rounds take longer there, and more of the spread is between workers. Six rounds knew
the median of eager softmax on an H200 to 0.2 to 1.8 %, and five sessions average that. The device is warm from the
checks, and from the sessions before.
"""
