"""Picture of a record for a terminal: for each timed case a histogram of every contestant's calls, then its speedup."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from robust_kbench.plots import labels
from robust_kbench.plots.panels import CaseKey, Panel, Row, panels
from robust_kbench.plots.scale import Scale, time_scale
from robust_kbench.schema.record import RunRecord

MIN_WIDTH = 64
_BLOCKS = "▁▂▃▄▅▆▇█"
_MEDIAN = "┃"
_NAME_CELLS = 14


def text(record: RunRecord, width: int = 80, floors_us: Mapping[CaseKey, float] | None = None) -> str:
    """Draw a record in lines of at most `width` cells; a terminal narrower than `MIN_WIDTH` has to wrap them.

    The heights of a row are in units of its fullest cell; ┃ stands in the cell of its median. Raises SpecError for
    damaged samples.
    """
    width = max(width, MIN_WIDTH)
    found = panels(record, floors_us)
    lines = [*labels.heading(record), *(line for panel in found for line in ["", *_panel(panel, width)])]
    if not found:
        lines.append("no case was timed")
    return "".join(f"{labels.visible(line, width).rstrip()}\n" for line in lines)


def _panel(panel: Panel, width: int) -> Iterator[str]:
    names = min(_NAME_CELLS, max(labels.cells_of(row.name) for row in panel.rows))
    left = 2 + names + 1 + labels.MEDIAN_CHARACTERS + 1
    cells = width - left - 1 - labels.RATIO_CHARACTERS
    scale = time_scale(panel.samples_us, panel.floor_us)
    summary = labels.visible(panel.summary, width // 2)
    yield f"{labels.visible(panel.case, width - labels.cells_of(summary) - 2)}  {summary}"
    for row in panel.rows:
        yield f"  {labels.padded(row.name, names)} {labels.time(row.median_us):>{labels.MEDIAN_CHARACTERS}} " + (
            f"{_histogram(row, scale, cells)} {labels.speedup(row.speedup) if row.speedup else ''}"
        )
    yield " " * left + _axis(panel, scale, cells)


def _histogram(row: Row, scale: Scale, cells: int) -> str:
    counts = [0] * cells
    for sample in row.samples_us:
        counts[_cell(sample, scale, cells)] += 1
    bars = [_bar(count, counts) for count in counts]
    bars[_cell(row.median_us, scale, cells)] = _MEDIAN
    return "".join(bars)


def _cell(value_us: float, scale: Scale, cells: int) -> int:
    return int(scale.at(value_us) * cells)  # below `cells`: every sample lies inside the axis


def _bar(count: int, counts: Sequence[int]) -> str:
    return _BLOCKS[-(-len(_BLOCKS) * count // max(counts)) - 1] if count else " "


def _axis(panel: Panel, scale: Scale, cells: int) -> str:
    low, high = labels.time(scale.low).removesuffix(" us"), labels.time(scale.high)
    kind = ", log" if scale.is_log else ""
    floor = "" if panel.floor_us is None else f"; floor {labels.time(panel.floor_us)}"
    return f"{low}{high:>{max(1, cells - len(low))}}{kind}{floor}"
