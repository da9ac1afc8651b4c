"""How long an evaluation may go on timing a slow submission: nobody else can measure meanwhile."""

from __future__ import annotations

from collections import defaultdict

from robust_kbench.schema.finding import Finding
from robust_kbench.schema.record import CANDIDATE, OUT_OF_TIME

LEAST_S = 600.0
SHARE = 20
"""A candidate has so many times what the slowest baseline has taken, and at least ten minutes."""


class Spending:
    """Seconds that each contestant's calls have taken in all sessions of an evaluation, on and off the clock.

    Of the candidate also what it has taken to load: its import may do anything.
    """

    def __init__(self) -> None:
        self._spent_s: defaultdict[str, float] = defaultdict(float)

    def add(self, name: str, seconds: float) -> None:
        """Add a call, or what the candidate's worker has taken to load."""
        self._spent_s[name] += seconds

    @property
    def is_over(self) -> bool:
        """Tell if the candidate has had its share: sessions end as soon as they can then, and no further one begins."""
        return self._spent_s[CANDIDATE] > max(LEAST_S, SHARE * self._slowest_s)

    @property
    def _slowest_s(self) -> float:
        return max((spent_s for name, spent_s in self._spent_s.items() if name != CANDIDATE), default=0.0)

    def finding(self, timed: int, due: int) -> Finding:
        """Tell what was left out: `timed` of the `due` bindings have all of their sessions."""
        minutes, times = self._spent_s[CANDIDATE] / 60, self._spent_s[CANDIDATE] / max(self._slowest_s, 1e-3)
        message = f"it took {minutes:.0f} minutes, {times:.0f} times as long as the slowest baseline: "
        message += f"{timed} of {due} bindings were timed in full; not ranked"
        return Finding(guard=OUT_OF_TIME, severity="warn", message=message)
