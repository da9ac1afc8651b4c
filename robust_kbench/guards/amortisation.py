"""T6. Several problems back to back against one.

The loophole: with the inputs of several calls in sight, one launch can solve them all, and the other calls return what
is already there; a leaderboard's first place was held that way.
How it is detected: of four different problems back to back, without a flush, each after the first must add at least two
thirds of what a scored call takes, or of one problem alone less an empty call, whichever is shorter. They may add more:
together they may be too large for a cache that one of them fits into. The first is left out since it alone waits for
the host.
What it cannot see: calls of less than 10 us, and what all further problems together save where that is less than twice
the summed spreads of these times, some 20 us on a quiet host. The scored calls are immune by construction: the next
inputs do not exist before the last outputs were taken.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable

from robust_kbench.guards.thresholds import in_us, spread_of
from robust_kbench.schema.agreement import Amortisation
from robust_kbench.schema.finding import Finding

_LEAST = 2 / 3
_SHORTEST_NS = 10_000
_NOISES = 2  # of medians of five, whose errors hardly ever add up to more


def inspect(facts: Amortisation, case: str) -> Iterable[Finding]:
    """A rejection when further problems cost much less than one."""
    empty, alone, together = (statistics.median(times) for times in (facts.empty_ns, facts.alone_ns, facts.together_ns))
    noise = spread_of(facts.empty_ns) + spread_of(facts.alone_ns) + spread_of(facts.together_ns)
    usual = min(alone - empty, facts.event_ns)
    share = further_ns(facts) / usual if usual > 0 else 1.0
    saved_ns = (_LEAST - share) * usual * (facts.problems - 1)
    if usual >= _SHORTEST_NS and saved_ns > _NOISES * noise:
        evidence = {"test": "T6", "share": round(share, 3), **in_us(alone=alone, together=together, empty=empty)}
        further = f"each of {facts.problems} problems back to back costs {share:.0%} of one after the first"
        message = f"{further}: calls solve each other's problems"
        yield Finding(guard="amortisation", severity="reject", message=message, case=case, evidence=evidence)


def further_ns(facts: Amortisation) -> float:
    """What each problem after the first has added."""
    return (statistics.median(facts.together_ns) - statistics.median(facts.alone_ns)) / (facts.problems - 1)
