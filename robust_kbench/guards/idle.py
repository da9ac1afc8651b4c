"""T10. Work after DONE.

The loophole: a worker that reports completion and works on, on a thread or on the device, has its answer ready when
somebody looks, or slows down whoever is timed next.
How it is detected: after DONE the judge stops the worker and waits 5 ms. Its process tree must use no processor time
meanwhile, and a fixed piece of work in the baseline's worker must take as long as when the candidate had nothing to do.
Of both the lower quartile counts: on a host that other machines disturb for some milliseconds, a median of five probes
was 15 % too long after honest calls.
What it cannot see: work that ends before the stop, some tens of microseconds; device work that leaves the probe's share
of the device alone, or follows fewer than three calls of four.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from robust_kbench.guards.thresholds import in_us, slack_ns
from robust_kbench.schema.agreement import Calibration, Idleness
from robust_kbench.schema.finding import Finding

_ALLOWED_BUSY_NS = 100_000
_ALLOWED_SHARE = 0.10
_MIN_PROBES = 5


def inspect(facts: Idleness, case: str, calibration: Calibration | None = None) -> Iterable[Finding]:
    """A rejection when the worker, or the device, is at work after DONE."""
    if facts.busy_ns > _ALLOWED_BUSY_NS:
        message = "the worker's processes work on after they have reported completion"
        times = in_us(busy=facts.busy_ns, window=facts.window_ns)
    elif _is_disturbed(facts, calibration):
        message = "the device is busy after completion: what runs next takes longer"
        times = in_us(probe=_usual(facts.probe_ns), quiet=_usual(facts.quiet_ns))
    else:
        return
    yield Finding(guard="idle", severity="reject", message=message, case=case, evidence={"test": "T10", **times})


def _is_disturbed(facts: Idleness, calibration: Calibration | None) -> bool:
    if min(len(facts.probe_ns), len(facts.quiet_ns)) < _MIN_PROBES:
        return False
    return _usual(facts.probe_ns) > (1 + _ALLOWED_SHARE) * _usual(facts.quiet_ns) + slack_ns(calibration)


def _usual(times_ns: Sequence[int]) -> int:
    """The lower quartile."""
    return sorted(times_ns)[len(times_ns) // 4]
