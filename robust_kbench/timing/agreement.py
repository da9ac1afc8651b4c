"""Calls that are not scored, from which the agreement tests T2 to T8 and T10 learn what they need (docs/agreement.md).

Only where times are claims of the worker, that is on a CUDA device, and once for each timed case: after its first
session's samples, in the very worker that gave them.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from robust_kbench.isolation import schedule
from robust_kbench.schema.agreement import Agreement
from robust_kbench.schema.observation import Observation
from robust_kbench.timing import gathering

AUDITS = 4
"""Calls under a profiler."""


class Call(Protocol):
    """A call of one worker on fresh values; `more` as isolation.calls.Caller.call has it."""

    def __call__(self, **more: object) -> Observation:
        """What was seen. Raises when the worker gave no right answer."""


def gather(
    case: str,
    candidate: Call,
    baseline: Call,
    timed: Sequence[Observation],
    members: Callable[[], Sequence[int]],
    hidden_ns: int,
) -> Agreement:
    """Facts for T5, T6, T7 and T10. `timed` are scored calls of the candidate, `members` tells its processes.

    `hidden_ns`: how much of the host's launches is hidden behind what holds the device.
    """
    quiet_ns = [_probe(baseline) for _ in range(gathering.REPEATS)]
    kernel, empty = _batch(candidate), _batch(baseline, empty=True)
    event_ns = _median(timed, "event_ns")
    return Agreement(
        case=case,
        calibration=baseline().calibration,
        slope=gathering.gather_slope(
            kernel, empty, event_ns=event_ns, host_ns=_median(timed, "host_ns"), hidden_ns=hidden_ns
        ),
        amortisation=gathering.gather_amortisation(kernel, empty, event_ns=event_ns),
        freshness=gathering.gather_freshness(lambda: _first_and_again(candidate)),
        idleness=gathering.gather_idleness(
            lambda: schedule.total_processor_ns(members()),
            lambda ns: time.sleep(ns / 1e9),
            time.perf_counter_ns,
            call=lambda: _ignore(candidate()),
            probe=lambda: _probe(baseline),
            quiet_ns=quiet_ns,
        ),
    )


def _batch(call: Call, *, empty: bool = False) -> gathering.Batch:
    def run(calls: int, *, problems: int, flush: bool) -> int:
        return call(batch={"calls": calls, "problems": problems, "flush": flush, "empty": empty}).elapsed_ns

    return run


def _probe(call: Call) -> int:
    """How long the device takes for a millisecond of its own time, whatever the host does meanwhile."""
    return call(batch={"calls": 4, "flush": True, "empty": True}).event_ns or 0


def _first_and_again(call: Call) -> tuple[int, int]:
    first, again = call(batch={"calls": 2, "problems": 1, "flush": True}).batch_ns
    return first, again


def _median(calls: Sequence[Observation], name: str) -> int:
    return int(statistics.median(getattr(call, name) or 0 for call in calls))


def _ignore(_: object) -> None:
    """An observation that nobody needs."""
