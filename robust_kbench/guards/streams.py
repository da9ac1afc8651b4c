"""T1. Work outside the two events of a call.

The loophole: events measure one stream. Work on another stream, from another thread, or launched after the kernel has
returned costs nothing by their clock; a third of CUDA-L1's kernels were "18 times faster" that way.
How it is detected: three clocks that include it are held against the events' time (E): an event behind a completion of
the whole device (E2), the worker's wall clock (W), and the judge's (O), which the worker cannot touch. What they may
exceed E by was measured on the baseline's own calls, in the same session. The clocks may not see less than that either:
before every call the device is kept busy, to hide the host's launches, and who skipped that could claim as much time
less.
What it cannot see: work that is shorter than the slack (60 us, six times the spread of an empty call or of the
baseline's, or a tenth of E), and work that starts after the completion: see activity and idle. E2 and W are claims; a
worker that forges them is left with O.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from robust_kbench.guards.thresholds import MIN_CALLS, SPREADS, by_shape, in_us, median_of, slack_ns, spread_of
from robust_kbench.schema.finding import Finding
from robust_kbench.schema.observation import Observation

_ALLOWED_SHARE = 0.10
_HOST_SLACK_NS = 60_000  # a host that is slow to synchronise; a sample may not gain more by it either

_HALF_HOLD_NS = 100_000  # of the time for which the device is kept busy before each call, at least


def inspect(seen: Sequence[Observation]) -> Iterable[Finding]:
    """A rejection for the first shape whose typical call goes on after its second event."""
    for _, calls in by_shape(seen, lambda call: call.is_timed and call.event_ns is not None):
        event_ns = median_of(call.event_ns for call in calls)
        if len(calls) < MIN_CALLS or event_ns is None:
            continue
        gaps = list(_gaps(calls, event_ns))
        if not gaps:
            message = "the events' times were held against no other clock: none was calibrated"
            yield Finding(guard="streams", severity="warn", message=message, case=_name(calls), evidence={"test": "T1"})
            return
        for clock, gap_ns, least_ns, most_ns in gaps:
            if least_ns <= gap_ns <= most_ns:
                continue
            if gap_ns > most_ns:
                message = f"work outside the events of the call: {clock} sees more than they do; join your streams"
            else:
                message = (
                    f"{clock} sees less than the baseline has besides its kernel: the judge's own work was skipped"
                )
            evidence = {"test": "T1", **in_us(event=event_ns, gap=gap_ns, least=least_ns, most=most_ns)}
            yield Finding(guard="streams", severity="reject", message=message, case=_name(calls), evidence=evidence)
            return


_Gap = tuple[str, float, float, float]


def _gaps(calls: Sequence[Observation], event_ns: float) -> Iterable[_Gap]:
    """For each clock that is known: its name, the median of its excess over E, and the least and the most of it."""
    calibration = next((call.peer_calibration for call in calls if call.peer_calibration), None)
    least = max(_HOST_SLACK_NS, slack_ns(calibration))
    for clock, own, peers in (
        ("an event behind all streams", [call.join_ns for call in calls], [call.peer_join_gap_ns for call in calls]),
        ("the worker's wall clock", [call.wall_ns for call in calls], [call.peer_wall_gap_ns for call in calls]),
        ("the judge's clock", [call.elapsed_ns for call in calls], [call.peer_gap_ns for call in calls]),
    ):
        gap_ns = median_of(_minus(time_ns, call.event_ns) for time_ns, call in zip(own, calls, strict=True))
        peer_ns = median_of(peers)
        if gap_ns is not None and peer_ns is not None:
            slack = max(least, SPREADS * spread_of(peers))
            yield clock, gap_ns, peer_ns - max(slack, _HALF_HOLD_NS), peer_ns + max(slack, _ALLOWED_SHARE * event_ns)


def _minus(clock_ns: int | None, event_ns: int | None) -> int | None:
    return None if clock_ns is None or event_ns is None else clock_ns - event_ns


def _name(calls: Sequence[Observation]) -> str:
    return str(calls[0].case)
