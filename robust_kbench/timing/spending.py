"""Limit of the time that an evaluation may spend on a slow submission: no other can be measured meanwhile."""

from __future__ import annotations

from collections import defaultdict

from robust_kbench.schema.finding import Finding
from robust_kbench.schema.record import CANDIDATE, OUT_OF_TIME

LEAST_S = 600.0
SHARE = 20
"""Multiple of the slowest baseline's time that a candidate may take; it has at least ten minutes."""


class Spending:
    """Seconds that each contestant's calls have taken in all sessions of an evaluation, on and off the clock.

    The candidate's seconds include its loading time: its import may do anything.
    """

    def __init__(self) -> None:
        self._spent_s: defaultdict[str, float] = defaultdict(float)

    def add(self, name: str, seconds: float) -> None:
        """Add the seconds of a call, or of the loading of the candidate's worker."""
        self._spent_s[name] += seconds

    @property
    def is_over(self) -> bool:
        """True if the candidate has had its share: sessions end as soon as they can then, and no further one begins."""
        return self._spent_s[CANDIDATE] > max(LEAST_S, SHARE * self._slowest_s)

    @property
    def _slowest_s(self) -> float:
        return max((spent_s for name, spent_s in self._spent_s.items() if name != CANDIDATE), default=0.0)

    def finding(self, timed: int, due: int) -> Finding:
        """Tell that bindings were left out: `timed` of the `due` bindings have all of their sessions."""
        minutes, times = self._spent_s[CANDIDATE] / 60, self._spent_s[CANDIDATE] / max(self._slowest_s, 1e-3)
        message = f"it took {minutes:.0f} minutes, {times:.0f} times as long as the slowest baseline: "
        message += f"{timed} of {due} bindings were timed in full; not ranked"
        return Finding(guard=OUT_OF_TIME, severity="warn", message=message)
