"""Writes outside the tensors of the call.

The loophole: an out-of-bounds store that hits nothing important on the author's machine passes every comparison, and a
deliberate one can plant values for a later call.
How it is detected: every tensor lies between red zones of 4 KiB with a pattern that is looked at after each call.
What it cannot see: a write farther away, reads out of bounds, and memory that is not ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from robust_kbench.schema.finding import Finding
from robust_kbench.schema.observation import Observation


def inspect(seen: Sequence[Observation]) -> Iterable[Finding]:
    """Reject the first call that wrote outside a tensor."""
    for observation in seen:
        for name, distance in observation.overruns.items():
            side = f"{distance} bytes behind the end of" if distance > 0 else f"{-distance} bytes before the start of"
            message = f"the call wrote {side} {name}; check the bounds of the last block"
            yield Finding(guard="bounds", severity="reject", message=message, case=str(observation.case))
            return
