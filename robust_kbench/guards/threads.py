"""Threads that grow in number from call to call.

The loophole: a call that hands its work to a thread of its own returns at once, and the thread goes on.
How it is detected: the judge counts the threads of the worker's process tree before and after each call, native ones
too, while it is stopped. The first calls of a shape may start pools; later ones may not, so growth in the second half
of a shape's calls is a warning.
What it cannot see: threads that were parked when the submission was imported. They gain nothing: they are stopped with
the worker.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from robust_kbench.guards.groups import by_shape, median_of
from robust_kbench.schema.finding import Finding
from robust_kbench.schema.observation import Observation

_MIN_CALLS = 4


def inspect(seen: Sequence[Observation]) -> Iterable[Finding]:
    """At most one warning."""
    for _, calls in by_shape(seen, lambda call: call.is_timed):
        growth = median_of(map(_growth, calls[len(calls) // 2 :]))
        if len(calls) >= _MIN_CALLS and growth is not None and growth > 0:
            message = f"every call leaves {growth:,.0f} threads behind"
            evidence: dict[str, float | int | str] = {"growth": growth}
            yield Finding(guard="threads", severity="warn", message=message, case=str(calls[0].case), evidence=evidence)
            return


def _growth(call: Observation) -> int | None:
    before, after = call.threads_before, call.threads_after
    return None if before is None or after is None else after - before
