"""What the agreement tests share: how far two clocks may be apart, and which calls may be compared."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence

from robust_kbench.schema.agreement import Calibration
from robust_kbench.schema.observation import Observation

MIN_CALLS = 10
WAKE_SLACK_NS = 50_000
"""Wake-ups of a process, and its stops, vary by tens of microseconds; their medians by far less."""
_SLACK_NS = 3_000
SPREADS = 6
"""Median absolute deviations that a time may be off by: two clocks are seldom that far apart by chance."""

Shape = tuple[tuple[tuple[str, int], ...], str]


def slack_ns(calibration: Calibration | None) -> int:
    """3 us and six times the spread of an empty call."""
    return _SLACK_NS + SPREADS * (calibration.spread_ns if calibration else 0)


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


def in_us(**times_ns: float) -> dict[str, float | int | str]:
    """Evidence for a finding: the given times in microseconds, under names that end in `_us`."""
    return {f"{name}_us": round(value / 1e3, 3) for name, value in times_ns.items()}
