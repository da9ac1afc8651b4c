"""How often, in which order, and when to stop: on precision, never on a sign or a significance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from robust_kbench.schema.record import Tier
from robust_kbench.timing import statistics


@dataclass(frozen=True)
class Plan:
    """Sampling of one timed binding. A round holds one call of every contestant, in random order."""

    sessions: int
    warm_up_rounds: int
    min_rounds: int
    max_rounds: int
    max_seconds: float
    precision: float = 0.005
    """Stop when half the interval of the log ratio is below this."""
    full_rule_share: float = 0.25
    """Share of timed outputs, secretly drawn, that is judged against float64; the others against PyTorch."""

    def is_enough(self, logs: Sequence[Sequence[float]], seconds: float) -> bool:
        """Whether a session with these log ratios (one list per baseline) may end."""
        rounds = len(logs[0]) if logs else self.max_rounds
        if rounds >= self.max_rounds or (rounds >= self.min_rounds and seconds > self.max_seconds):
            return True
        precise = all(statistics.half_width(values) <= self.precision for values in logs) if rounds else False
        return rounds >= self.min_rounds and precise


PLANS: dict[Tier, Plan] = {
    "quick": Plan(sessions=1, warm_up_rounds=1, min_rounds=6, max_rounds=7, max_seconds=0.6),
    "full": Plan(sessions=3, warm_up_rounds=3, min_rounds=12, max_rounds=24, max_seconds=3.0),
    "final": Plan(sessions=5, warm_up_rounds=4, min_rounds=16, max_rounds=20, max_seconds=20.0),
}
