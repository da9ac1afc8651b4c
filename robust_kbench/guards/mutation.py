"""Inputs changed by the call.

The loophole: a kernel that overwrites its inputs corrupts what is compared or timed next; robust-kbench ran the
submission first and its reference on the same tensors afterwards.
How it is detected: the judge keeps a private copy of every input, gaps of strided layouts included, and compares bytes
while the worker is stopped.
What it cannot see: a change that is undone before the call returns, which is harmless.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from robust_kbench.schema.finding import Finding
from robust_kbench.schema.observation import Observation


def inspect(seen: Sequence[Observation]) -> Iterable[Finding]:
    """Reject the first call that changed an input."""
    for observation in seen:
        if observation.changed_inputs:
            names = ", ".join(observation.changed_inputs)
            message = f"the call changed its input {names}; copy it before working in place"
            yield Finding(guard="mutation", severity="reject", message=message[:500], case=str(observation.case))
            return
