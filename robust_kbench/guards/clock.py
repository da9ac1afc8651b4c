"""Work done before the clock starts.

The loophole: inputs are in place a moment before GO; a worker that dawdles between waking up and waiting for GO can
compute the answer in that window and then return at once.
How it is detected: on the cpu device inputs appear while the worker is stopped, and the judge measures the window from
there to ARMED. The baseline's worker, woken by the same code a moment earlier, shows how long that takes now.
Calls of each shape are judged by themselves, and only if their values are like those of scored ones: a submission can
tell other calls apart, and would behave in them.
On a busy machine wake-ups take milliseconds at random, for both. The time in which a worker waited for a processor that
others had is taken off on both sides; if it is not known, as when it has started a thread, on neither. Where wake-ups
vary, only an excess in nearly every call counts. A session against which nothing else speaks is measured anew, twice at
most, and counts only if it was not found again.
What it cannot see: work that fits into the jitter of a wake-up, some 50 microseconds a call.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence

from robust_kbench.guards.thresholds import WAKE_SLACK_NS, by_shape
from robust_kbench.schema.finding import Finding
from robust_kbench.schema.observation import Observation

_ALLOWED_SHARE = 0.05
_MIN_CALLS = 5
_QUIET_NS = 100_000
_NEARLY_ALL = 0.85


def inspect(seen: Sequence[Observation]) -> Iterable[Finding]:
    """Reject the first shape whose typical call needs longer to become ready than the baseline's."""
    for _, calls in by_shape(seen, _is_like_a_scored_one):
        times = _excess_and_elapsed(calls)
        if times is not None:
            excess, elapsed = times
            message = "the worker needs longer to become ready than the baseline's: it works before the clock starts"
            evidence: dict[str, float | int | str] = {"excess_us": excess / 1e3, "median_call_us": elapsed / 1e3}
            yield Finding(guard="clock", severity="reject", message=message, case=str(calls[0].case), evidence=evidence)
            return


def _is_like_a_scored_one(call: Observation) -> bool:
    return call.is_timed and call.clock == "judge" and call.looks_scored


def _excess_and_elapsed(calls: Sequence[Observation]) -> tuple[float, float] | None:
    """Compute the typical excess of becoming ready and the typical call's time, in ns; None if it gains nothing."""
    peers = [call.peer_wake_ns for call in calls if call.peer_wake_ns is not None]
    excesses = [call.waking_ns - call.peer_wake_ns for call in calls if call.peer_wake_ns is not None]
    if len(excesses) < _MIN_CALLS:
        return None
    excess = statistics.median(excesses)
    elapsed = statistics.median(call.elapsed_ns for call in calls)
    share = sum(each > WAKE_SLACK_NS for each in excesses) / len(excesses)
    is_typical = excess > WAKE_SLACK_NS and (_is_quiet(peers) or share >= _NEARLY_ALL)
    return (excess, elapsed) if is_typical and excess > _ALLOWED_SHARE * elapsed else None


def _is_quiet(peers: Sequence[int]) -> bool:
    """Tell if the baseline woke up in about the same time nine times out of ten (every time, if there are few)."""
    ordered = sorted(peers)
    high = ordered[int(0.9 * len(ordered))] if len(ordered) >= 20 else ordered[-1]
    return high - statistics.median(ordered) <= _QUIET_NS
