"""Work done before the clock starts.

The loophole: inputs are in place a moment before GO; a worker that dawdles between waking up and reporting READY can
compute the answer in that window and then return at once.
How it is detected: on the cpu device inputs appear while the worker is stopped, and the judge measures the window from
waking it to READY. An honest worker needs a few tens of microseconds for it.
What it cannot see: work that fits into the jitter of a wake-up, some 50 microseconds a call.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence

from robust_kbench.schema.finding import Finding
from robust_kbench.schema.observation import Observation

_ALLOWED_NS = 300_000  # ten times the median wake-up of an honest worker
_MIN_CALLS = 5
_TOTAL_SHARE = 0.25


def inspect(seen: Sequence[Observation]) -> Iterable[Finding]:
    """A rejection when the typical call hides a noticeable share of its time before the clock."""
    timed = [call for call in seen if call.ending == "returned" and call.case.role == "timed" and call.event_ns is None]
    if len(timed) < _MIN_CALLS:
        return
    wake = statistics.median(call.wake_ns for call in timed)
    elapsed = statistics.median(call.elapsed_ns for call in timed)
    if wake > _ALLOWED_NS and wake > _TOTAL_SHARE * elapsed:
        message = "the worker needs longer to become ready than a wake-up takes: it works before the clock starts"
        evidence: dict[str, float | int | str] = {"ready_after_us": wake / 1e3, "median_call_us": elapsed / 1e3}
        yield Finding(guard="clock", severity="reject", message=message, evidence=evidence)
