"""What guards share: how far two times may be apart, and which calls may be compared."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence

from robust_kbench.schema.observation import Observation

WAKE_SLACK_NS = 50_000
"""Wake-ups of a process, and its stops, vary by tens of microseconds; their medians by far less."""
SPREADS = 6
"""Median absolute deviations that a time may be off by: two clocks are seldom that far apart by chance."""

Shape = tuple[tuple[tuple[str, int], ...], str]


def by_shape(
    seen: Sequence[Observation], belongs: Callable[[Observation], bool]
) -> Iterable[tuple[Shape, list[Observation]]]:
    """The calls that `belongs` admits, those with equal axes and dtype together."""
    groups: dict[Shape, list[Observation]] = {}
    for call in seen:
        if belongs(call):
            groups.setdefault(shape_of(call), []).append(call)
    return groups.items()


def shape_of(call: Observation) -> Shape:
    """Axes and dtype of a call."""
    return tuple(call.case.axes.items()), call.case.dtype


def median_of(values: Iterable[int | None]) -> float | None:
    """The median of what is known; None where nothing is."""
    known = [value for value in values if value is not None]
    return float(statistics.median(known)) if known else None


def spread_of(values: Iterable[int | None]) -> float:
    """The median absolute deviation of what is known; 0 where nothing is."""
    known = [value for value in values if value is not None]
    if not known:
        return 0.0
    centre = statistics.median(known)
    return statistics.median(abs(value - centre) for value in known)
