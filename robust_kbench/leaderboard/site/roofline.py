"""Roofline charts: achieved rates over arithmetic intensity, below the limits that the records' floors imply.

A record keeps the floor of each timed binding, not the peaks that it came from. So the roof is drawn where it is known:
at the intensities of the bindings. An op without operations is drawn as bytes moved per second, over the number of
bytes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from robust_kbench.leaderboard.site import charts, contracts
from robust_kbench.leaderboard.site.cases import bound
from robust_kbench.leaderboard.site.charts import Chart, Line
from robust_kbench.leaderboard.summary import Summary
from robust_kbench.schema.record import CANDIDATE, CONTROL
from robust_kbench.schema.task import Task

_NO_TASK = "No roofline: the task is not installed here, so that its operations and bytes are not known."
_NO_RUN = "No roofline: no ranked run has times."
_NO_FLOOR = "No ceiling in the roofline: the records know no floor, since the peaks of the device were not known."


@dataclass(frozen=True)
class _Point:
    """Point of a contestant on a binding. `roof`: the rate at the floor, where that is known."""

    who: str
    binding: str
    x: float
    rate: float
    roof: float | None
    median_us: float


def roofline(
    name: str, terms: Mapping[str, str], leaders: Sequence[Summary], spec: Task | None
) -> tuple[list[Chart], list[str]]:
    """Return a chart, or a note that says why there is none."""
    if spec is None:
        return [], [_NO_TASK]
    counted = _counts_operations(spec, leaders)
    points = [
        point for place, run in enumerate(leaders) for point in _points(place, run, terms["dtype"], spec, counted)
    ]
    if not points:
        return [], [_NO_RUN]
    highest: dict[float, float] = {}
    for point in points:
        if point.roof is not None:
            highest[point.x] = max(point.roof, highest.get(point.x, 0.0))
    roofs = sorted(highest.items())
    figure = charts.lines(
        [*_roof(roofs, counted), *_clouds(points, counted)],
        x=charts.log_axis(
            "operations per byte, log scale" if counted else "bytes moved, log scale", [p.x for p in points]
        ),
        y=charts.log_axis(
            "Gflop/s, log scale" if counted else "GB/s, log scale",
            [p.rate for p in points] + [roof for _, roof in roofs],
        ),
    )
    figure["layout"]["xaxis"]["range"] = _range([p.x for p in points])
    figure["layout"]["yaxis"]["range"] = _range([p.rate for p in points] + [roof for _, roof in roofs])
    label = f"Roofline, {terms['dtype']} on {terms['device']}: " + "; ".join(map(_in_words, points[:6]))
    caption = (
        "Rates reached on each timed binding, from the task's declared operations and bytes. A ceiling is where the "
        "floor of the records lies: no kernel on this device can be above it. The dashed line moves as many bytes per "
        "second as the highest ceiling."
    )
    return [Chart(name, figure, label, caption, 6)], ([] if roofs else [_NO_FLOOR])


def _counts_operations(spec: Task, leaders: Sequence[Summary]) -> bool:
    found = [contracts.work(spec, each.axes, each.dtype) for run in leaders for each in run.bindings]
    return all(work[0] > 0 for work in found if work)


def _points(place: int, run: Summary, dtype: str, spec: Task, counted: bool) -> Iterator[_Point]:
    """Yield the points of a candidate and, for the best candidate, those of its baselines."""
    for each in run.bindings:
        work = contracts.work(spec, each.axes, each.dtype) if each.dtype == dtype else None
        if work is None or work[1] <= 0:
            continue
        flops, moved = work
        amount, x = (flops, flops / moved) if counted else (moved, float(moved))
        roof = amount / each.floor_us / 1e3 if each.floor_us else None
        for name, median_us in sorted(each.medians_us.items()):
            if median_us > 0 and (name == CANDIDATE or (place == 0 and name != CONTROL)):
                who = f"{place + 1}. {run.submission}" if name == CANDIDATE else name
                yield _Point(who, bound(each.axes), x, amount / median_us / 1e3, roof, median_us)


def _roof(roofs: Sequence[tuple[float, float]], counted: bool) -> list[Line]:
    """Return the ceilings, and a line of as many bytes per second as the highest of them stands for."""
    if not roofs:
        return []
    unit = "Gflop/s" if counted else "GB/s"
    texts = [f"at most {roof:,.4g} {unit}" for _, roof in roofs]
    ends = [min(x for x, _ in roofs) / 2, max(x for x, _ in roofs) * 2]
    moved = max(roof / x for x, roof in roofs) if counted else max(roof for _, roof in roofs)
    slope = [moved * end for end in ends] if counted else [moved, moved]
    return [
        Line(f"{moved:,.4g} GB/s", ends, slope, colour="var(--quiet)", style={"dash": "dash"}),
        Line(
            "ceiling", [x for x, _ in roofs], [roof for _, roof in roofs], texts, mode="markers", colour="var(--quiet)"
        ),
    ]


def _clouds(points: Sequence[_Point], counted: bool) -> list[Line]:
    unit = "Gflop/s" if counted else "GB/s"
    made = []
    for number, who in enumerate(dict.fromkeys(point.who for point in points)):
        mine = [point for point in points if point.who == who]
        texts = [f"{who}, {p.binding}: {p.rate:,.4g} {unit}{_share(p)}" for p in mine]
        colour = f"var(--c{number % 8 + 1})"
        made.append(Line(who, [p.x for p in mine], [p.rate for p in mine], texts, mode="markers", colour=colour))
    return made


def _share(point: _Point) -> str:
    return "" if point.roof is None else f", {point.rate / point.roof:.0%} of the ceiling"


def _in_words(point: _Point) -> str:
    return f"{point.who} on {point.binding} {point.rate:,.3g}{_share(point)}"


def _range(values: Sequence[float]) -> list[float | None]:
    """Return a range of logarithms, a third of a decade around the values, but at least one decade."""
    known = [math.log10(value) for value in values if value > 0]
    low, high = min(known) - 0.3, max(known) + 0.3
    missing = max(0.0, 1.0 - (high - low)) / 2
    return [charts.rounded(low - missing), charts.rounded(high + missing)]
