"""A record as SVG: for each timed case every call of every contestant, and the speedups with their intervals."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from robust_kbench.plots import canvas, labels
from robust_kbench.plots.canvas import Axis, dots, line, rectangle, text
from robust_kbench.plots.naming import stem
from robust_kbench.plots.panels import CaseKey, Panel, Row, panels
from robust_kbench.plots.scale import speedup_scale, ticks, time_scale
from robust_kbench.schema.record import RunRecord
from robust_kbench.timing.statistics import Ratio, Verdict

WIDTH = 960
_MARGIN = 16
_DESCRIBED_CELLS = 80
_NAME_CELLS, _MEDIAN_RIGHT = 14, 216
_TIMES = (232, 600)
_SPEEDUPS = (640, 776)
_RATIO_LEFT = 786
_TOP = 92  # of the first panel
_CASE_HEIGHT, _AXIS_HEIGHT, _FLOOR_HEIGHT, _GAP = 24, 20, 15, 16
_LANE, _MIN_ROW, _MAX_ROW = 7, 22, 64
_GOLDEN = (math.sqrt(5) - 1) / 2


def svg(record: RunRecord, floors_us: Mapping[CaseKey, float] | None = None) -> str:
    """Draw a record as SVG, with the same bytes for the same record.

    A case in `floors_us` gets that floor instead of the record's. Raises SpecError for damaged samples.
    """
    found = panels(record, floors_us)
    speedups = Axis(speedup_scale(row.speedup for panel in found for row in panel.rows if row.speedup), *_SPEEDUPS)
    tops = [_TOP]
    for panel in found:
        tops.append(tops[-1] + _height(panel) + _GAP)
    drawn = chain.from_iterable(_panel(panel, speedups, top) for panel, top in zip(found, tops, strict=False))
    parts = [*_opening(record, found, tops[-1]), *_heading(record, found), *drawn, "</svg>"]
    return "\n".join(parts) + "\n"


def _opening(record: RunRecord, found: Sequence[Panel], height: int) -> Iterator[str]:
    name = f"kbench-{stem(record)}"
    what, how = labels.heading(record)
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="kbench" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'height="{height}" role="img" aria-labelledby="{name}-title {name}-desc">'
    )
    yield f'<title id="{name}-title">{labels.escaped(f"Times and speedups of {what}", 300)}</title>'
    yield f'<desc id="{name}-desc">{labels.escaped(" ".join([f"{how}.", *map(_in_words, found)]), 20_000)}</desc>'
    yield canvas.STYLE
    yield f'<rect class="page" width="{WIDTH}" height="{height}"/>'


def _in_words(panel: Panel) -> str:
    """Describe a panel in words, for a reader that cannot see the picture."""
    rows = [
        f"{labels.visible(row.name, _DESCRIBED_CELLS)} {labels.time(row.median_us)}"
        + (f", speedup {labels.speedup(row.speedup)}, {row.verdict}" if row.speedup else "")
        for row in panel.rows
    ]
    floor = "" if panel.floor_us is None else f"; floor {labels.time(panel.floor_us)}"
    return f"{labels.visible(panel.case, _DESCRIBED_CELLS)}: {'; '.join(rows)}{floor}."


def _heading(record: RunRecord, found: Sequence[Panel]) -> Iterator[str]:
    what, how = labels.heading(record)
    yield text(_MARGIN, 28, what, "title", cells=96)
    yield text(_MARGIN, 48, how, "quiet", cells=120)
    if not found:
        yield text(_MARGIN, 70, "no case was timed", "quiet")
        return
    sessions = max(len(row.sessions_us) for panel in found for row in panel.rows)
    yield text(_MARGIN, 70, "sessions", "quiet")
    for session in range(1, min(sessions, canvas.SESSION_COLOURS) + 1):
        x = _MARGIN + (5 + 4 * session) * canvas.CELL
        yield dots([(x, 66)], f"strip s{session}")
        yield text(x + canvas.CELL, 70, str(session), "quiet")
    yield text(_TIMES[0] + 40, 70, "box: middle half, line: median, dashes: floor", "quiet")
    yield text(_SPEEDUPS[0], 70, "speedup over each; top: over the fastest", "quiet")


def _height(panel: Panel) -> int:
    floor = _FLOOR_HEIGHT if panel.floor_us is not None else 0
    return _CASE_HEIGHT + _row_height(panel) * len(panel.rows) + _AXIS_HEIGHT + floor


def _row_height(panel: Panel) -> int:
    lanes = max(len(row.sessions_us) for row in panel.rows)
    return min(_MAX_ROW, max(_MIN_ROW, _LANE * lanes + 4))


def _panel(panel: Panel, speedups: Axis, top: int) -> Iterator[str]:
    times = Axis(time_scale(panel.samples_us, panel.floor_us), *_TIMES)
    first, height = top + _CASE_HEIGHT, _row_height(panel)
    bottom = first + height * len(panel.rows)
    yield text(_MARGIN, first - 9, panel.case, "case", cells=80)
    yield from _axis(times, ticks(times.scale), first, bottom)
    unit = "us, log" if times.scale.is_log else "us"
    yield text(_MEDIAN_RIGHT, bottom + 14, unit, "quiet", anchor="end")
    if panel.floor_us is not None:
        yield from _floor(times, panel.floor_us, first, bottom)
    if panel.fastest:
        yield text(_SPEEDUPS[0], first - 9, panel.summary, "quiet", cells=41)
        yield _margin(panel.margin, speedups, first, bottom)
        yield from _axis(speedups, [1.0, *ticks(speedups.scale)], first, bottom)
        yield line(speedups.x(1.0), first, speedups.x(1.0), bottom, "par")
    for position, row in enumerate(panel.rows):
        yield from _row(row, times, speedups, first + position * height, height)


def _margin(margin: float, speedups: Axis, first: float, bottom: float) -> str:
    left, right = speedups.x(1 / (1 + margin)), speedups.x(1 + margin)
    return rectangle(left, first, right - left, bottom - first, "margin")


def _axis(axis: Axis, values: Sequence[float], first: int, bottom: int) -> Iterator[str]:
    yield line(axis.left, bottom, axis.right, bottom, "par")
    for x, label in canvas.tick_labels(axis, values):
        yield line(x, first, x, bottom, "grid")
        yield text(x, bottom + 14, label, "quiet", anchor="middle")


def _floor(times: Axis, floor_us: float, first: int, bottom: int) -> Iterator[str]:
    x, label = times.x(floor_us), f"floor {labels.time(floor_us)}"
    if times.scale.has(floor_us):
        yield line(x, first, x, bottom, "floor")
    else:
        label = f"← {label}" if floor_us < times.scale.low else f"{label} →"
    half = canvas.width(label) / 2
    x = min(max(x, times.left + half), times.right - half)
    yield text(x, bottom + _AXIS_HEIGHT + 8, label, "quiet", anchor="middle")


def _row(row: Row, times: Axis, speedups: Axis, top: float, height: float) -> Iterator[str]:
    middle = top + height / 2
    yield text(_MARGIN, middle + 4, row.name, cells=_NAME_CELLS)
    yield text(_MEDIAN_RIGHT, middle + 4, labels.time(row.median_us), anchor="end")
    low, high = (times.x(value) for value in _middle_half(row.samples_us))
    yield rectangle(low, top + 2, max(high - low, 1), height - 4, "box")
    lane = (height - 4) / len(row.sessions_us)
    for session, samples in enumerate(row.sessions_us):
        points = _strip(samples, times, top + 2 + session * lane, lane)
        if points:
            yield dots(points, f"strip s{session % canvas.SESSION_COLOURS + 1}")
    yield line(times.x(row.median_us), top + 2, times.x(row.median_us), top + height - 2, "median")
    if row.speedup is not None and row.verdict is not None:
        yield from _interval(row.speedup, row.verdict, speedups, middle)


def _strip(samples_us: Sequence[float], times: Axis, top: float, lane: float) -> list[tuple[float, float]]:
    """Return the points of a session in a lane of its own, scattered evenly and always alike."""
    return [
        (times.x(sample), top + lane * (0.2 + 0.6 * (index * _GOLDEN % 1.0))) for index, sample in enumerate(samples_us)
    ]


def _middle_half(samples_us: Sequence[float]) -> tuple[float, float]:
    ordered = sorted(samples_us)
    quarter = len(ordered) // 4
    return ordered[quarter], ordered[-1 - quarter]


def _interval(ratio: Ratio, verdict: Verdict, speedups: Axis, y: float) -> Iterator[str]:
    yield line(speedups.x(ratio.low), y, speedups.x(ratio.high), y, f"interval {verdict}")
    yield line(speedups.x(ratio.value), y - 6, speedups.x(ratio.value), y + 6, f"interval {verdict}")
    yield text(_RATIO_LEFT, y + 4, labels.speedup(ratio))
