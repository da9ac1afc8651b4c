"""What several clocks say about the same work: facts for the agreement tests T1 to T10 (docs/agreement.md).

E is the time between two events on the call's stream, E2 the same with the second event behind a completion of the
whole device, W the worker's wall clock around the call, O the judge's, K what a profiler saw the device do. All times
are in nanoseconds. E, E2, W and K are taken inside the worker: claims.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import Literal

ActivityKind = Literal["kernel", "memcpy", "memset"]


@dataclass(frozen=True)
class Calibration:
    """What a call of an empty kernel costs in one worker, measured before any submission is loaded there.

    `event_ns`: two events with nothing between. `launch_ns`: E of an empty kernel, the floor of every measurement.
    `wall_gap_ns`, `join_gap_ns`: W - E and E2 - E of it. `spread_ns`: the larger median absolute deviation of those
    two.
    """

    event_ns: int
    launch_ns: int
    wall_gap_ns: int
    join_gap_ns: int
    spread_ns: int


@dataclass(frozen=True)
class Activity:
    """One thing that a device did, on the profiler's clock."""

    kind: ActivityKind
    name: str
    start_ns: int
    end_ns: int
    stream: int = 0
    grid: tuple[int, ...] = ()
    block: tuple[int, ...] = ()

    @property
    def shape(self) -> tuple[str, tuple[int, ...], tuple[int, ...]]:
        """What stays the same from call to call: name, grid and block."""
        return self.name, self.grid, self.block


@dataclass(frozen=True)
class Audit:
    """What a profiler saw from before a call until the device was idle after it, in order of launch.

    The call's window lies between two marker kernels of ours, whose end and start are `start_ns` and `stop_ns`;
    `has_markers` is False where the profiler did not even see those. `dropped` counts activities that are not listed.
    """

    activities: tuple[Activity, ...]
    start_ns: int = 0
    stop_ns: int = 0
    has_markers: bool = True
    dropped: int = 0


@dataclass(frozen=True)
class Slope:
    """O of batches of `few` and of `many` calls, each after a flush; several batches of each.

    `flush_ns` is what one flush costs by the same measure, taken in the baseline's worker. `event_ns` is the median E
    of single calls, `host_ns` the median time until the kernel returns to the host, of which `hidden_ns` passes before
    the device gets to the call, `peer_excess_ns` how much the baseline's own slope exceeds its E.
    """

    few: int
    many: int
    few_ns: tuple[int, ...]
    many_ns: tuple[int, ...]
    flush_ns: float
    event_ns: int
    host_ns: int = 0
    hidden_ns: int = 0
    peer_excess_ns: float = 0.0

    @property
    def call_ns(self) -> float:
        """Time of one call by the judge's clock, without its flush."""
        more = statistics.median(self.many_ns) - statistics.median(self.few_ns)
        return more / (self.many - self.few) - self.flush_ns


@dataclass(frozen=True)
class Amortisation:
    """O of `problems` different problems back to back, of one problem, and of an empty call, all without a flush.

    `event_ns` is the median E of scored calls.
    """

    problems: int
    event_ns: int
    together_ns: tuple[int, ...]
    alone_ns: tuple[int, ...]
    empty_ns: tuple[int, ...]


@dataclass(frozen=True)
class Freshness:
    """Times of calls on inputs that were never seen before, and of calls that repeat them at the same addresses."""

    first_ns: tuple[int, ...]
    again_ns: tuple[int, ...]


@dataclass(frozen=True)
class Idleness:
    """After DONE: what the stopped worker did in a window, and how long a known piece of work took meanwhile.

    `busy_ns` is processor time of the worker's process tree within `window_ns`. `probe_ns` are times of a fixed piece
    of work in another worker right after DONE, `quiet_ns` the same while the candidate had nothing to do.
    """

    busy_ns: int
    window_ns: int
    probe_ns: tuple[int, ...] = ()
    quiet_ns: tuple[int, ...] = ()


@dataclass(frozen=True)
class Agreement:
    """Facts that take calls of their own; None where they were not gathered. `calibration` is the baseline worker's."""

    case: str
    calibration: Calibration | None = None
    slope: Slope | None = None
    amortisation: Amortisation | None = None
    freshness: Freshness | None = None
    idleness: Idleness | None = None
