"""How the facts of T5, T6, T7 and T10 are obtained from anything that can carry out calls and has a clock.

Nothing here knows a device: a batch is a function that carries out calls and returns the judge's time from GO to DONE.
Repetitions alternate what is compared, so that a drift of the machine is common to both.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from typing import Protocol

from robust_kbench.schema.agreement import Amortisation, Freshness, Idleness, Slope

FEW, MANY = 8, 72
PROBLEMS = 4
REPEATS = 5
IDLE_WINDOW_NS = 5_000_000


class Batch(Protocol):
    """Calls of one kernel between one GO and one DONE, going round `problems` inputs that were never seen before."""

    def __call__(self, calls: int, *, problems: int, flush: bool) -> int:
        """The judge's time from GO to DONE, in ns."""


def gather_slope(
    kernel: Batch,
    empty: Batch,
    *,
    event_ns: int,
    host_ns: int = 0,
    hidden_ns: int = 0,
    peer_excess_ns: float = 0.0,
    problems: int = PROBLEMS,
    repeats: int = REPEATS,
) -> Slope:
    """T5: batches of few and of many calls; `empty` is the same in the baseline's worker, with only the flush.

    Twice. What comes nearer to the events counts: who forges them is as far off both times, but a device that others
    disturb in between is not.
    """

    def gathered() -> Slope:
        few, many = _ends(kernel, problems, repeats)
        flushes_few, flushes_many = _ends(empty, 1, repeats)
        flush_ns = (statistics.median(flushes_many) - statistics.median(flushes_few)) / (MANY - FEW)
        return Slope(FEW, MANY, few, many, flush_ns, event_ns, host_ns, hidden_ns, peer_excess_ns)

    return min(gathered(), gathered(), key=lambda facts: abs(facts.call_ns - event_ns))


def _ends(batch: Batch, problems: int, repeats: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    pairs = []
    for _ in range(repeats):
        few = batch(FEW, problems=problems, flush=True)
        pairs.append((few, batch(MANY, problems=problems, flush=True)))
    return tuple(few for few, _ in pairs), tuple(many for _, many in pairs)


def gather_amortisation(
    kernel: Batch, empty: Batch, *, event_ns: int, problems: int = PROBLEMS, repeats: int = REPEATS
) -> Amortisation:
    """T6: one problem, several together, and an empty call, in turn."""
    alone, together, nothing = [], [], []
    for _ in range(repeats):
        alone.append(kernel(1, problems=1, flush=False))
        together.append(kernel(problems, problems=problems, flush=False))
        nothing.append(empty(1, problems=1, flush=False))
    return Amortisation(problems, event_ns, tuple(together), tuple(alone), tuple(nothing))


def gather_freshness(first_and_again: Callable[[], tuple[int, int]], *, repeats: int = 2 * REPEATS) -> Freshness:
    """T7: `first_and_again` calls on fresh inputs, calls once more on the same, and returns both times in ns."""
    pairs = [first_and_again() for _ in range(repeats)]
    return Freshness(tuple(first for first, _ in pairs), tuple(again for _, again in pairs))


def gather_idleness(
    busy_ns: Callable[[], int],
    pause: Callable[[int], None],
    clock_ns: Callable[[], int],
    *,
    call: Callable[[], None] = lambda: None,
    probe: Callable[[], int] | None = None,
    quiet_ns: Sequence[int] = (),
) -> Idleness:
    """T10: carry out `call`, then watch the stopped worker.

    `busy_ns` is the processor time that its process tree has used so far, `pause` waits for so many ns. `probe` carries
    out a fixed piece of work in another worker and returns its time, `quiet_ns` are such times without a call before.
    """
    probes = []
    for _ in range(2 * REPEATS if probe else 0):
        call()
        if probe:
            probes.append(probe())
    call()
    started, used = clock_ns(), busy_ns()
    pause(IDLE_WINDOW_NS)
    return Idleness(busy_ns() - used, clock_ns() - started, tuple(probes), tuple(quiet_ns))
