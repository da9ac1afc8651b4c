"""The agreement tests that take calls of their own (T5, T6, T7, T10): what was gathered, looked at in one place.

T1, T2, T3, T4, T8 and T9 look at observations and stand among the other guards.
"""

from __future__ import annotations

from collections.abc import Sequence

from robust_kbench.guards import amortisation, freshness, idle, slope
from robust_kbench.schema.agreement import Agreement
from robust_kbench.schema.finding import Finding


def inspect(facts: Agreement) -> tuple[Finding, ...]:
    """At most one finding for each test whose facts were gathered."""
    found: list[Finding] = []
    if facts.slope is not None:
        found += slope.inspect(facts.slope, facts.case)
    if facts.amortisation is not None:
        found += amortisation.inspect(facts.amortisation, facts.case)
    if facts.freshness is not None:
        found += freshness.inspect(facts.freshness, facts.case, facts.calibration)
    if facts.idleness is not None:
        found += idle.inspect(facts.idleness, facts.case, facts.calibration)
    return tuple(found)


def inspect_all(gathered: Sequence[Agreement]) -> list[Finding]:
    """The first finding of each test and severity: what is said about one timed case need not be said about all."""
    first: dict[tuple[object, str], Finding] = {}
    for facts in gathered:
        for finding in inspect(facts):
            first.setdefault((finding.evidence.get("test"), finding.severity), finding)
    return list(first.values())
