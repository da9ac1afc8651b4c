"""Processes that outlive the call.

The loophole: a child process can go on working, or slow the baseline down, after the clock has stopped.
How it is detected: after each call, with the worker stopped, its descendants are counted.
What it cannot see: threads (they are stopped with the worker), and processes of other users.
Compilers that a Python submission starts on its first calls are legitimate, so this only warns; the children are
stopped together with their parent, and killed with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from robust_kbench.schema.finding import Finding
from robust_kbench.schema.observation import Observation


def inspect(seen: Sequence[Observation]) -> Iterable[Finding]:
    """Warn of processes that a call has left behind, with their largest number."""
    most = max(seen, key=lambda observation: observation.left_processes, default=None)
    if most is not None and most.left_processes:
        message = f"{most.left_processes} processes were running after a call had returned"
        yield Finding(guard="processes", severity="warn", message=message, case=str(most.case))
