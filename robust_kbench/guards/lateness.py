"""Outputs that change after the call is said to be over.

The loophole: the word that ends a call on a CUDA device is written by the submission's process. Written too early, it
stops the clock while the device is still at work, on the same stream or on another one.
How it is detected: calls of less than a millisecond end with the judge's turn on the device, which comes when all
streams of the submission are idle, or after 2 ms; outputs that change after that were not complete. Of longer calls,
random pieces of the outputs are copied to the host when the word comes, and compared with what is there at that turn.
A single call that outlasts a turn may be the machine's doing; it is no sample. Nor does it count where calls are not
scored: a kernel may be slow in another layout or with other values, and then takes more than its turn.
What it cannot see: work of a long call that is done some microseconds after its word.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from robust_kbench.schema.finding import Finding
from robust_kbench.schema.observation import Observation

_LEAST = 2


def inspect(seen: Sequence[Observation]) -> Iterable[Finding]:
    """Reject the first case whose outputs were not complete in time."""
    late = [each for each in seen if each.is_late and (each.clock is not None or each.looks_scored)]
    if len(late) >= _LEAST or any(observation.clock is not None for observation in late):
        message = "outputs change after the end of the call: join every stream with the current one before you return"
        yield Finding(guard="lateness", severity="reject", message=message, case=str(late[0].case))
