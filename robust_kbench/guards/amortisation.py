"""T6. Several problems back to back against one.

The loophole: with the inputs of several calls in sight, one launch can solve them all, and the other calls return what
is already there; a leaderboard's first place was held that way.
How it is detected: four different problems back to back, without a flush, must take at least 3.0 times as long as one,
an empty call subtracted from both. More than 4 is usual: they may be too large for a cache that one of them fits into.
What it cannot see: calls of less than 10 us beyond an empty one, or of less than six times the spread of these times,
some 50 us on a quiet host. The scored calls are immune by construction: the next
inputs do not exist before the last outputs were taken.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable

from robust_kbench.guards.thresholds import SPREADS, in_us, spread_of
from robust_kbench.schema.agreement import Amortisation
from robust_kbench.schema.finding import Finding

_LEAST = 0.75  # per problem: 3.0 for four of them
_SHORTEST_NS = 10_000


def inspect(facts: Amortisation, case: str) -> Iterable[Finding]:
    """A rejection when several problems cost much less than as many times one."""
    empty, alone, together = (statistics.median(times) for times in (facts.empty_ns, facts.alone_ns, facts.together_ns))
    noise = spread_of(facts.empty_ns) + spread_of(facts.alone_ns) + spread_of(facts.together_ns)
    if alone - empty < max(_SHORTEST_NS, SPREADS * noise):
        return
    ratio = (together - empty) / (alone - empty)
    evidence = {"test": "T6", "ratio": round(ratio, 3), **in_us(alone=alone, together=together, empty=empty)}
    if ratio < _LEAST * facts.problems:
        message = (
            f"{facts.problems} problems back to back cost {ratio:.1f} times one: calls solve each other's problems"
        )
        yield Finding(guard="amortisation", severity="reject", message=message, case=case, evidence=evidence)
