"""Work done before the clock starts.

The loophole: inputs are in place a moment before GO; a worker that dawdles between waking up and waiting for GO can
compute the answer in that window and then return at once.
How it is detected: on the cpu device inputs appear while the worker is stopped, and the judge measures the window from
there to ARMED. The baseline's worker, woken by the same code a moment earlier, shows how long that takes now.
On a busy machine wake-ups take milliseconds at random, for both. What the worker waited for a processor that others had
is taken off on both sides; where it is not known, as when it has started a thread, on neither. Where wake-ups vary,
only an excess in nearly every call counts.
What it cannot see: work that fits into the jitter of a wake-up, some 50 microseconds a call.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence

from robust_kbench.schema.finding import Finding
from robust_kbench.schema.observation import Observation

_ALLOWED_NS = 50_000  # wake-ups vary by tens of microseconds, the median of their differences by far less
_ALLOWED_SHARE = 0.05
_MIN_CALLS = 5
_QUIET_NS = 100_000
_NEARLY_ALL = 0.85


def inspect(seen: Sequence[Observation]) -> Iterable[Finding]:
    """A rejection when the typical call needs longer to become ready than the baseline's, and gains by it."""
    timed = [call for call in seen if call.ending == "returned" and call.case.role == "timed" and call.event_ns is None]
    peers = [call.peer_wake_ns for call in timed if call.peer_wake_ns is not None]
    excesses = [call.waking_ns - call.peer_wake_ns for call in timed if call.peer_wake_ns is not None]
    if len(excesses) < _MIN_CALLS:
        return
    excess = statistics.median(excesses)
    elapsed = statistics.median(call.elapsed_ns for call in timed)
    share = sum(each > _ALLOWED_NS for each in excesses) / len(excesses)
    is_typical = excess > _ALLOWED_NS and (_is_quiet(peers) or share >= _NEARLY_ALL)
    if is_typical and excess > _ALLOWED_SHARE * elapsed:
        message = "the worker needs longer to become ready than the baseline's: it works before the clock starts"
        evidence: dict[str, float | int | str] = {"excess_us": excess / 1e3, "median_call_us": elapsed / 1e3}
        yield Finding(guard="clock", severity="reject", message=message, evidence=evidence)


def _is_quiet(peers: Sequence[int]) -> bool:
    """Whether the baseline woke up in about the same time nine times out of ten (every time, when there are few)."""
    ordered = sorted(peers)
    high = ordered[int(0.9 * len(ordered))] if len(ordered) >= 20 else ordered[-1]
    return high - statistics.median(ordered) <= _QUIET_NS
