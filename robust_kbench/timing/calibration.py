"""The constant in the judge's clock on a CUDA device: two changes of contexts beside the kernel, some 0.29 ms.

It depends a little on how much a call writes. So it is taken from a trusted contestant's calls of the same case: what
the judge's clock shows of them, less what two events show in that worker, in which no code but ours runs. Events in
their turn show an empty kernel's launch beside a kernel; what they show of an empty kernel is known.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field

from robust_kbench.guards.thresholds import spread_of
from robust_kbench.schema.observation import Way
from robust_kbench.timing import statistics

EMPTY_KERNEL_NS = 900
"""Time of the empty kernel on an H100, as CUPTI shows it (tools/gpu/constant.py)."""
CLOCK_ERROR_NS = 3_000
"""By how much times of short kernels were found to be wrong, in a worker in which Triton launches them."""

WORKERS_US = 1.0
"""By how much the clock differs between workers; the mean of several sessions by less."""
RESOLVED = 10
"""Times of less than so many times what the clock tells apart are not ranked."""
_WAYS_NS = 8_000
"""Bound of the difference between calls that end by a word and by a turn, or that write much and nothing.

Of both, 3 to 5 us were measured.
"""


def resolution_us(sessions: int, single_us: float = WORKERS_US) -> float:
    """What the mean of so many sessions tells apart, in us, if a single one tells `single_us` apart."""
    return single_us / math.sqrt(sessions)


def is_resolved(time_us: float, sessions: int, single_us: float = WORKERS_US) -> bool:
    """Tell if a time of so many sessions is long enough to be ranked."""
    return time_us >= RESOLVED * resolution_us(sessions, single_us)


@dataclass
class Calibration:
    """Times of calls that are made for their sake, in ns."""

    empty: dict[Way, list[int]] = field(default_factory=lambda: defaultdict(list))
    """The judge's clock around an empty kernel."""
    nothing: dict[str, list[int]] = field(default_factory=dict)
    """The same by contestant, in its worker before anything was loaded there."""
    empty_events: list[int] = field(default_factory=list)
    """Two events around an empty kernel."""
    events: list[int] = field(default_factory=list)
    """Two events around the trusted contestant's kernel."""
    around_events: list[int] = field(default_factory=list)
    """The judge's clock around the same calls."""

    def forget(self) -> None:
        """Forget the calls of the trusted contestant, as others or otherwise ended ones take their place."""
        self.events.clear()
        self.around_events.clear()

    def difference_ns(self, name: str, trusted: str) -> int:
        """By how much the constant in calls of one worker exceeds that of another. It is a matter of the context.

        No code of a submission was in either worker when this was measured.
        """
        mine, theirs = self.nothing.get(name), self.nothing.get(trusted)
        return round(statistics.median(mine) - statistics.median(theirs)) if mine and theirs else 0

    def offset_ns(self, way: Way, trusted: Way, trusted_ns: list[int]) -> int:
        """Offset to take off a time that was stopped in this `way`; `trusted_ns` are times of the trusted contestant.

        A candidate that disturbs the trusted contestant's calls lengthens them, and so would raise the offset. Pairs of
        both clocks around the same calls bound it. So does an empty kernel's offset and the largest difference from it:
        what the trusted contestant does outside its events is no part of the constant.
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
        """What a single session tells apart: by the gate, what workers differ by.

        The wall clock has the host's scheduling in it. There it is how much longer a usual empty call takes than the
        shortest one, which is taken off.
        """
        workers_ns = round(1e3 * WORKERS_US)
        if way != "wall" or not self.empty[way]:
            return workers_ns
        return max(workers_ns, round(statistics.median(self.empty[way]) - min(self.empty[way])))

    def least_ns(self, way: Way) -> int:
        """Shortest time to believe: no kernel is faster than an empty one, and no clock shows less than it tells apart.

        Else a few samples that are shorter than what is taken off would be speedups of a million.
        """
        return self.resolution_ns(way) if way == "wall" else EMPTY_KERNEL_NS

    def spread_ns(self) -> int | None:
        """Median absolute deviation of single calls on equal terms; None where none was made."""
        return round(spread_of(self.around_events)) if self.around_events else None
