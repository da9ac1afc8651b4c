"""Guards, a module per family of loopholes: pure functions from observations to findings, testable without a device.

A guard that raises is our own failure: the evaluation ends as `harness_error`, never as a pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from robust_kbench.guards import (
    bounds,
    determinism,
    lateness,
    mutation,
    processes,
    threads,
    undefined_behaviour,
)
from robust_kbench.schema.finding import Finding
from robust_kbench.schema.observation import Observation

Guard = Callable[[Sequence[Observation]], Iterable[Finding]]

GUARDS: tuple[Guard, ...] = (
    mutation.inspect,
    bounds.inspect,
    processes.inspect,
    undefined_behaviour.inspect,
    determinism.inspect,
    lateness.inspect,
    threads.inspect,
)


def inspect(seen: Sequence[Observation]) -> tuple[Finding, ...]:
    """Collect the findings of all guards, at most one per guard and kind, since a thousand equal ones say no more."""
    return tuple(finding for guard in GUARDS for finding in guard(seen))
