"""T9. Threads and device memory that grow from call to call.

The loophole: a call that hands its work to a thread of its own returns at once, and the thread goes on.
How it is detected: the judge counts the threads of the worker's process tree before and after each call, native ones
too, while it is stopped; the worker says how much device memory is in use. The first calls of a shape may start pools
and fill caches; later ones may not, so growth in the second half of a shape's calls is a warning.
What it cannot see: threads that were parked when the submission was imported. They gain nothing on the cpu device,
where they are stopped with the worker at DONE; on a CUDA device see streams and idle.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from robust_kbench.guards.thresholds import by_shape, median_of
from robust_kbench.schema.finding import Finding
from robust_kbench.schema.observation import Observation

_MIN_CALLS = 4


def inspect(seen: Sequence[Observation]) -> Iterable[Finding]:
    """At most one warning for threads and one for memory."""
    for what, growth_of in (("threads", _threads), ("bytes of device memory", _bytes)):
        for _, calls in by_shape(seen, lambda call: call.is_timed):
            later = calls[len(calls) // 2 :]
            growth = median_of(map(growth_of, later))
            if len(calls) >= _MIN_CALLS and growth is not None and growth > 0:
                message = f"every call leaves {growth:,.0f} {what} behind"
                evidence: dict[str, float | int | str] = {"test": "T9", "growth": growth}
                yield Finding(
                    guard="threads", severity="warn", message=message, case=str(calls[0].case), evidence=evidence
                )
                break


def _threads(call: Observation) -> int | None:
    return _difference(call.threads_before, call.threads_after)


def _bytes(call: Observation) -> int | None:
    return _difference(call.device_bytes_before, call.device_bytes_after)


def _difference(before: int | None, after: int | None) -> int | None:
    return None if before is None or after is None else after - before
