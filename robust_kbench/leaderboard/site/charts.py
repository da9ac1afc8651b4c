"""Figures as plotly's JSON, without plotly: plain dictionaries, to which site.js adds the reader's colours.

A colour is `var(--name)`, a variable of site.css. Texts of records come escaped (`in_chart`). Numbers have five digits.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from robust_kbench.leaderboard.roofline import plausible
from robust_kbench.leaderboard.site.writing import in_chart

Figure = dict[str, Any]
_COLOURS = {
    "faster": "var(--good)", "slower": "var(--bad)", "same": "var(--same)", "ambiguous": "var(--doubt)",
}  # fmt: skip
_MOST_BANDS = 4
_LOG_SPAN = 3.0
"""Ratio of the largest time to the smallest above which their axis is logarithmic."""


@dataclass(frozen=True)
class Chart:
    """Figure with its label and caption. `size`: a class of site.css, 4 (320 px) to 9 (830 px)."""

    name: str
    figure: Figure
    label: str
    caption: str
    size: int = 5


@dataclass(frozen=True)
class Estimate:
    """A number with its interval. `kind`: faster, slower, same, ambiguous, or anything for a colour of its own."""

    label: str
    value: float
    low: float
    high: float
    kind: str


@dataclass(frozen=True)
class Line:
    """A named line or cloud of points. `low` and `high`: ends of intervals, drawn as a band or as whiskers."""

    name: str
    x: Sequence[Any]
    y: Sequence[float | None]
    texts: Sequence[str] = ()
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    mode: str = "lines"
    colour: str = ""
    style: Mapping[str, Any] = field(default_factory=dict)


def size_for(rows: int) -> int:
    """Return the size of a chart with room for so many labels below each other."""
    return min(9, max(4, 4 + rows // 6))


def rounded(value: float | None) -> float | None:
    """Return `value` with five digits; None for a value that is no number."""
    if value is None or not math.isfinite(value):
        return None
    return float(f"{value:.5g}")


def intervals(estimates: Sequence[Estimate], title: str = "speedup over the fastest baseline, log scale") -> Figure:
    """Draw intervals one below the other, the first on top, with a line at 1."""
    kinds = list(dict.fromkeys(each.kind for each in estimates))
    rows = {id(each): number for number, each in enumerate(estimates)}
    data = [_dots([each for each in estimates if each.kind == kind], kind, rows) for kind in kinds]
    bounds = [bound for each in estimates for bound in (each.low, each.high) if bound > 0]
    layout = {
        "xaxis": {**log_axis(title, bounds), "ticksuffix": "×"},
        "yaxis": {
            "tickmode": "array",
            "tickvals": list(range(len(estimates))),
            "ticktext": [in_chart(each.label, 40) for each in estimates],
            "range": [len(estimates) - 0.5, -0.5],
            "fixedrange": len(estimates) < 12,
        },
        "shapes": [{**_at_one("x"), "x0": 1, "x1": 1, "y0": 0, "y1": 1}],
        "showlegend": len(kinds) > 1,
    }
    return {"data": data, "layout": layout}


def _dots(estimates: Sequence[Estimate], kind: str, rows: Mapping[int, int]) -> dict[str, Any]:
    colour = _COLOURS.get(kind, "var(--c1)")
    return {
        "type": "scatter",
        "mode": "markers",
        "name": in_chart(kind),
        "x": [rounded(each.value) for each in estimates],
        "y": [rows[id(each)] for each in estimates],
        "text": [in_chart(each.label, 80) for each in estimates],
        "customdata": [[rounded(each.low), rounded(each.high)] for each in estimates],
        "hovertemplate": "%{text}<br>%{x:.3f}× [%{customdata[0]:.3f}, %{customdata[1]:.3f}]<extra></extra>",
        "marker": {"color": colour, "size": 9},
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": [rounded(each.high - each.value) for each in estimates],
            "arrayminus": [rounded(each.value - each.low) for each in estimates],
            "color": colour,
            "thickness": 2,
            "width": 4,
        },
    }


def _at_one(axis: str) -> dict[str, Any]:
    other = "yref" if axis == "x" else "xref"
    return {"type": "line", other: "paper", "line": {"color": "var(--quiet)", "width": 1, "dash": "dot"}}


def log_axis(title: str, values: Iterable[float]) -> dict[str, Any]:
    """Return a logarithmic axis over all of `values` and 1, with some space at both ends.

    Ticks are at 1, 2 and 5 where few decades are.
    """
    known = [value for value in values if value > 0 and math.isfinite(value)]
    low, high = math.log10(min([1.0, *known])), math.log10(max([1.0, *known]))
    space = 0.05 * (high - low) or 0.1
    axis: dict[str, Any] = {
        "type": "log",
        "title": {"text": title},
        "range": [rounded(low - space), rounded(high + space)],
    }
    return {**axis, "dtick": "D2" if high - low < 2 else 1}


@dataclass(frozen=True)
class Spread:
    """Quantiles of one contestant's calls, in microseconds: 5, 25, 50, 75 and 95 %, and the number of calls."""

    quantiles_us: tuple[float, float, float, float, float]
    count: int


def boxes(sessions: Mapping[str, Mapping[str, Spread]], *, floor_us: float | None = None) -> Figure:
    """Draw boxes beside each other on one axis of time: for each group (a session) one box by name (a contestant)."""
    data = []
    for number, (session, spreads) in enumerate(sessions.items()):
        columns = list(zip(*(each.quantiles_us for each in spreads.values()), strict=True))
        parts = dict(zip(("lowerfence", "q1", "median", "q3", "upperfence"), columns, strict=False))
        data.append(
            {
                "type": "box",
                "name": in_chart(session),
                "x": [in_chart(name) for name in spreads],
                **{name: [rounded(value) for value in values] for name, values in parts.items()},
                "marker": {"color": f"var(--c{number % 8 + 1})"},
                "line": {"width": 1},
            }
        )
    everything = [q for spreads in sessions.values() for each in spreads.values() for q in each.quantiles_us]
    layout: dict[str, Any] = {
        "boxmode": "group",
        "boxgroupgap": 0.15,
        "xaxis": {"type": "category"},
        "yaxis": time_axis(everything),
        "showlegend": len(sessions) > 1,
    }
    least = plausible(floor_us)  # a record may claim any number, and a line at 1e308 is drawn at NaN
    if least and everything and min(everything) < 20 * least:
        layout["shapes"] = [{**_at_one("y"), "x0": 0, "x1": 1, "y0": rounded(least), "y1": rounded(least)}]
    return {"data": data, "layout": layout}


def time_axis(values_us: Sequence[float]) -> dict[str, Any]:
    """Return an axis of time, logarithmic where times differ by much."""
    known = [value for value in values_us if value > 0]
    if known and max(known) > _LOG_SPAN * min(known):
        return {"type": "log", "title": {"text": "time of a call, µs, log scale"}, "dtick": "D2"}
    return {"type": "linear", "title": {"text": "time of a call, µs"}, "rangemode": "normal"}


def lines(drawn: Sequence[Line], *, x: Mapping[str, Any], y: Mapping[str, Any], at_one: bool = False) -> Figure:
    """Draw lines, steps or points on two axes; `at_one` adds a dotted line where y is 1.

    Bands of many lines would cover each other, so their intervals are told only where a reader points.
    """
    layout: dict[str, Any] = {"xaxis": dict(x), "yaxis": dict(y), "showlegend": len(drawn) > 1}
    if at_one:
        layout["shapes"] = [{**_at_one("y"), "x0": 0, "x1": 1, "y0": 1, "y1": 1}]
    banded = [(each, number) for number, each in enumerate(drawn) if "lines" in each.mode and each.low]
    bands = [_band(each, number) for each, number in banded] if len(drawn) <= _MOST_BANDS else []
    return {"data": [*bands, *(_line(each, number) for number, each in enumerate(drawn))], "layout": layout}


def _colour(each: Line, number: int) -> str:
    return each.colour or f"var(--c{number % 8 + 1})"


def _band(each: Line, number: int) -> dict[str, Any]:
    """Draw the band between the ends of a line's intervals, in steps where the line has them."""
    is_stepped = each.style.get("shape") == "hv"
    upper, lower = (_corners(each.x, ends, is_stepped=is_stepped) for ends in (each.high, each.low))
    around = [*upper, *reversed(lower)]
    return {
        "type": "scatter",
        "mode": "lines",
        "name": in_chart(each.name),
        "legendgroup": in_chart(each.name),
        "x": [rounded(x) for x, _ in around],
        "y": [rounded(y) for _, y in around],
        "fill": "toself",
        "fillcolor": _colour(each, number),
        "line": {"width": 0},
        "opacity": 0.18,
        "hoverinfo": "skip",
        "showlegend": False,
    }


def _corners(x: Sequence[Any], y: Sequence[float], *, is_stepped: bool) -> list[tuple[float, float]]:
    points = list(zip(x, y, strict=True))
    if not is_stepped:
        return points
    return [corner for (_, before), (at, now) in pairwise(points) for corner in ((at, before), (at, now))]


def _line(each: Line, number: int) -> dict[str, Any]:
    colour = _colour(each, number)
    made: dict[str, Any] = {
        "type": "scatter",
        "mode": each.mode,
        "name": in_chart(each.name),
        "x": [rounded(value) if isinstance(value, float) else value for value in each.x],
        "y": [rounded(value) for value in each.y],
    }
    if "lines" in each.mode:
        made["line"] = {"color": colour, "width": 2, **each.style}
    if "markers" in each.mode:
        made["marker"] = {"color": colour, "size": 9}
    if each.texts:
        made |= {"text": [in_chart(text, 90) for text in each.texts], "hovertemplate": "%{text}<extra></extra>"}
    if each.low and "lines" in each.mode:
        made["legendgroup"] = made["name"]
        made["customdata"] = [[rounded(low), rounded(high)] for low, high in zip(each.low, each.high, strict=True)]
        made["hovertemplate"] = "%{y} [%{customdata[0]:.3g}, %{customdata[1]:.3g}]"
    elif each.low:
        made["error_y"] = _error(each.y, each.low, each.high, colour)
    return made


def _error(values: Sequence[float | None], low: Sequence[float], high: Sequence[float], colour: str) -> dict[str, Any]:
    return {
        "type": "data",
        "symmetric": False,
        "array": [rounded(bound - (value or 0.0)) for value, bound in zip(values, high, strict=True)],
        "arrayminus": [rounded((value or 0.0) - bound) for value, bound in zip(values, low, strict=True)],
        "color": colour,
        "thickness": 1.5,
        "width": 4,
    }
