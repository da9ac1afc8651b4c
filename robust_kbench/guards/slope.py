"""T5. Many calls against a few: the judge's clock over what the events say.

The loophole: events live in the worker. A submission that patches them, or the functions that read them, has any time
it likes.
How it is detected: the judge times batches of 8 and of 72 calls, each with its flush. What 64 calls more cost, less
what 64 flushes cost in the baseline's worker, is the time of a call by a clock outside the worker, free of all constant
overhead. It is gathered twice, and what is nearer to E counts: whoever forges events differs both times, a device that
was disturbed does not. It may differ from E by 15 % or 10 us. Below E it may also be by as much as the host needs to
launch the kernel beyond what is hidden of it in a single call: in a batch more of it is.
What it cannot see: a forgery within those limits, and one that slows its single calls down by as much as it claims. How
long the host needs is a claim: a kernel that shares work between the calls of a batch can claim enough of it, and is
left to amortisation.
"""

from __future__ import annotations

from collections.abc import Iterable

from robust_kbench.guards.thresholds import in_us
from robust_kbench.schema.agreement import Slope
from robust_kbench.schema.finding import Finding

_ALLOWED_SHARE = 0.15
_ALLOWED_NS = 10_000


def inspect(facts: Slope, case: str) -> Iterable[Finding]:
    """A rejection when a call in a batch costs another time than its events say."""
    per_call = facts.call_ns
    allowed = max(_ALLOWED_SHARE * facts.event_ns, _ALLOWED_NS)
    above, below = per_call - facts.event_ns, facts.event_ns - per_call
    if above > allowed + max(0.0, facts.peer_excess_ns):
        message = "a call costs more by the judge's clock than by its events: the events were tampered with"
    elif below > allowed + min(max(0, facts.host_ns - facts.hidden_ns), facts.event_ns):
        message = "a call costs less in a batch than alone: calls share work, or slow down when they are timed"
    else:
        return
    evidence = {"test": "T5", **in_us(event=facts.event_ns, slope=per_call, allowed=allowed)}
    yield Finding(guard="slope", severity="reject", message=message, case=case, evidence=evidence)
