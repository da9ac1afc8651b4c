"""Groups of calls that may be compared, and the statistics of them that guards share."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence

from robust_kbench.schema.observation import Observation

Shape = tuple[tuple[tuple[str, int], ...], str]


def by_shape(
    seen: Sequence[Observation], belongs: Callable[[Observation], bool]
) -> Iterable[tuple[Shape, list[Observation]]]:
    """Group the calls that `belongs` admits by equal axes and dtype."""
    groups: dict[Shape, list[Observation]] = {}
    for call in seen:
        if belongs(call):
            groups.setdefault(shape_of(call), []).append(call)
    return groups.items()


def shape_of(call: Observation) -> Shape:
    """Return the axes and the dtype of a call."""
    return tuple(call.case.axes.items()), call.case.dtype


def median_of(values: Iterable[int | None]) -> float | None:
    """Compute the median of the values that are known; None if there are none."""
    known = [value for value in values if value is not None]
    return float(statistics.median(known)) if known else None


def spread_of(values: Iterable[int | None]) -> float:
    """Compute the median absolute deviation of the values that are known; 0 if there are none."""
    known = [value for value in values if value is not None]
    if not known:
        return 0.0
    centre = statistics.median(known)
    return statistics.median(abs(value - centre) for value in known)
