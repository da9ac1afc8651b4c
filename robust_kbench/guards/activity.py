"""T2, T3, T4 and T8. What a profiler saw the device do, held against the events' time.

The loophole: whatever is not between the events of the call's stream is free: side streams, graph launches, work that
ends after the call, copies instead of kernels, an answer that was there before.
How it is detected: a few calls of the timed shape run under a profiler, from before the call until the device is idle.
T2: what the device did, on all streams together, takes no more than 1.1 times E of the unprofiled calls. T3: nothing
starts before the call's window or ends after it. T4: there was some work at all, and for half of what E has beyond an
empty kernel, else the kernel is bound by the host (a warning). T8: kernels, grids and blocks are the same from call to
call (a warning).
What it cannot see: a worker that forges the profiler's output, or that behaves only under a profiler where the judge's
own clock agrees with its events. Profiled calls are never scored.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from typing import Literal

from robust_kbench.guards.thresholds import by_shape, in_us, median_of, shape_of, slack_ns
from robust_kbench.schema.agreement import Activity, Audit, Calibration
from robust_kbench.schema.finding import Finding
from robust_kbench.schema.observation import Observation

_ALLOWED_FACTOR = 1.10
_HOST_BOUND_SHARE = 0.5
_CLOCK_NS = 2_000  # how well markers and activities agree


def inspect(seen: Sequence[Observation]) -> Iterable[Finding]:
    """At most one finding for each of the four tests, for the first shape that fails it."""
    told: set[str] = set()
    for shape, calls in by_shape(seen, lambda call: call.ending == "returned" and call.audit is not None):
        audits = [call.audit for call in calls if call.audit is not None]
        timed = [call.event_ns for call in seen if call.is_timed and shape_of(call) == shape]
        event_ns = median_of(timed) or median_of(call.event_ns for call in calls)
        calibration = next((call.peer_calibration for call in calls if call.peer_calibration), None)
        case = str(calls[0].case)
        for test, severity, message, times in _objections(audits, event_ns, calibration):
            if test not in told:
                told.add(test)
                evidence = {"test": test, **in_us(**times)}
                yield Finding(guard="activity", severity=severity, message=message, case=case, evidence=evidence)


_Objection = tuple[str, Literal["reject", "warn"], str, dict[str, float]]


def _objections(
    audits: Sequence[Audit], event_ns: float | None, calibration: Calibration | None
) -> Iterable[_Objection]:
    if not all(audit.has_markers for audit in audits):
        yield "T4", "reject", "the profiler saw nothing, not even the judge's own markers: it was disabled", {}
        return
    if not all(audit.activities for audit in audits):
        yield "T4", "reject", "the device did nothing that a profiler sees, and yet there was an answer", {}
        return
    late = max(late_ns(audit) for audit in audits)
    if late > _CLOCK_NS:
        yield "T3", "reject", "the device works for the call outside its window, before or after it", {"outside": late}
    if event_ns is not None:
        yield from _durations(statistics.median(map(union_ns, audits)), event_ns, calibration)
    yield from _changes(audits)


def _durations(union: float, event_ns: float, calibration: Calibration | None) -> Iterable[_Objection]:
    times = {"device": union, "event": event_ns}
    empty_ns = calibration.launch_ns if calibration else 0
    if union > _ALLOWED_FACTOR * event_ns + slack_ns(calibration):
        yield "T2", "reject", "the device works longer for a call than its events say; join your streams", times
    if union < _HOST_BOUND_SHARE * (event_ns - empty_ns):
        yield "T4", "warn", "bound by the host: the device idles for more than half of the call", times


def _changes(audits: Sequence[Audit]) -> Iterable[_Objection]:
    kernels = {tuple(sorted(activity.shape for activity in audit.activities)) for audit in audits}
    if len(kernels) > 1:
        yield "T8", "warn", f"calls of one shape launch different kernels: {_differing(audits)}"[:500], {}
    if not any(activity.kind == "kernel" for audit in audits for activity in audit.activities):
        yield "T8", "warn", "the calls launch no kernel, only copies", {}


def _differing(audits: Sequence[Audit]) -> str:
    names = [{activity.name for activity in audit.activities} for audit in audits]
    odd = sorted(set[str]().union(*names) - names[0].intersection(*names))
    return ", ".join(odd[:3]) if odd else "the same names, other grids or numbers"


def union_ns(audit: Audit) -> int:
    """How long the device was at work for the call, on any stream; overlapping work counts once."""
    total, until = 0, -1
    for activity in sorted(audit.activities, key=_start):
        total += max(0, activity.end_ns - max(activity.start_ns, until))
        until = max(until, activity.end_ns)
    return total


def late_ns(audit: Audit) -> int:
    """How far the farthest activity reaches out of the call's window; 0 when none does."""
    outside = [max(audit.start_ns - each.start_ns, each.end_ns - audit.stop_ns) for each in audit.activities]
    return max(0, *outside, 0)


def _start(activity: Activity) -> int:
    return activity.start_ns
