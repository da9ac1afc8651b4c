"""Calibration of the judge's clock on a CUDA device: its constant is two changes of contexts, some 0.29 ms.

The constant depends a little on how much a call writes. So it is taken from a trusted contestant's calls of the same
case: the time by the judge's clock, less the time between two events in that worker, in which no code but ours runs.
Events in their turn include an empty kernel's launch beside a kernel; their time for an empty kernel is known.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field

from robust_kbench.guards.groups import spread_of
from robust_kbench.schema.observation import Way
from robust_kbench.timing import statistics

EMPTY_KERNEL_NS = 900
"""Time of the empty kernel on an H100, as CUPTI shows it (tools/gpu/constant.py)."""
CLOCK_ERROR_NS = 3_000
"""Error that was found in times of short kernels, in a worker in which Triton launches them."""

WORKERS_US = 1.0
"""Difference of the clock between workers; for the mean of several sessions it is less."""
RESOLVED = 10
"""Least ratio of a ranked time to the smallest difference that the clock tells apart."""
_WAYS_NS = 8_000
"""Bound of the difference between calls that end by a word and by a turn, or that write much and nothing.

For each of the two, 3 to 5 us were measured.
"""


def resolution_us(sessions: int, single_us: float = WORKERS_US) -> float:
    """Return the resolution of the mean of so many sessions, in us, if a single one has `single_us`."""
    return single_us / math.sqrt(sessions)


def is_resolved(time_us: float, sessions: int, single_us: float = WORKERS_US) -> bool:
    """Tell if a time of so many sessions is long enough to be ranked."""
    return time_us >= RESOLVED * resolution_us(sessions, single_us)


@dataclass
class Calibration:
    """Times in ns of calls that are made only for calibration."""

    empty: dict[Way, list[int]] = field(default_factory=lambda: defaultdict(list))
    """Times of an empty kernel by the judge's clock."""
    nothing: dict[str, list[int]] = field(default_factory=dict)
    """Times of an empty kernel by contestant, in its worker before anything was loaded there."""
    empty_events: list[int] = field(default_factory=list)
    """Times between two events around an empty kernel."""
    events: list[int] = field(default_factory=list)
    """Times between two events around the trusted contestant's kernel."""
    around_events: list[int] = field(default_factory=list)
    """Times of the same calls by the judge's clock."""

    def forget(self) -> None:
        """Forget the calls of the trusted contestant, as others or otherwise ended ones take their place."""
        self.events.clear()
        self.around_events.clear()

    def difference_ns(self, name: str, trusted: str) -> int:
        """Return the excess of one worker's constant over that of another. It depends on the context.

        No code of a submission was in either worker when this was measured.
        """
        mine, theirs = self.nothing.get(name), self.nothing.get(trusted)
        return round(statistics.median(mine) - statistics.median(theirs)) if mine and theirs else 0

    def offset_ns(self, way: Way, trusted: Way, trusted_ns: list[int]) -> int:
        """Return the offset to take off a time that was stopped in this `way`.

        `trusted_ns` are times of the trusted contestant. A candidate that disturbs the trusted contestant's calls
        lengthens them, and so would raise the offset. Pairs of both clocks around the same calls bound it. So does an
        empty kernel's offset and the largest difference from it: time that the trusted contestant spends outside its
        events is no part of the constant.
        """
        empty_ns = round(min(self.empty[way]) - EMPTY_KERNEL_NS) if self.empty[way] else 0
        if "wall" in (way, trusted) or not (self.events and self.empty_events and trusted_ns):
            return empty_ns
        launch_ns = statistics.median(self.empty_events) - EMPTY_KERNEL_NS
        found_ns = statistics.median(trusted_ns) - statistics.median(self.events)
        if around_ns := sorted(
            around - inside for around, inside in zip(self.around_events, self.events, strict=False)
        ):
            found_ns = min(found_ns, statistics.median(around_ns[: 1 + len(around_ns) // 2]))
        offset_ns = round(found_ns + launch_ns)
        if way == trusted:
            return min(offset_ns, empty_ns + _WAYS_NS) if empty_ns else offset_ns
        return min(empty_ns, offset_ns + _WAYS_NS)

    def resolution_ns(self, way: Way) -> int:
        """Return the resolution of a single session: by the gate, the difference between workers.

        The wall clock has the host's scheduling in it. There the resolution is how much longer a usual empty call takes
        than the shortest one, which is taken off.
        """
        workers_ns = round(1e3 * WORKERS_US)
        if way != "wall" or not self.empty[way]:
            return workers_ns
        return max(workers_ns, round(statistics.median(self.empty[way]) - min(self.empty[way])))

    def least_ns(self, way: Way) -> int:
        """Return the shortest time to believe.

        No kernel is faster than an empty one, and no clock shows less than it tells apart. Without this bound a few
        samples that are shorter than the offset would be speedups of a million.
        """
        return self.resolution_ns(way) if way == "wall" else EMPTY_KERNEL_NS

    def spread_ns(self) -> int | None:
        """Return the median absolute deviation of single calls on equal terms; None where none was made."""
        return round(spread_of(self.around_events)) if self.around_events else None
