"""SVG elements as text, and axes on the page. Lengths are in pixels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from robust_kbench.plots.labels import cells_of, escaped, visible
from robust_kbench.plots.scale import Scale

CELL = 7.5
"""Upper bound of a character's width: monospaced fonts of 12 pixels have 6.6 to 7.4."""
_APART = 6.0

STYLE = """<style>
svg.kbench text { font: 12px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; fill: #1f2328;
  direction: ltr; unicode-bidi: bidi-override; white-space: pre; }
svg.kbench text.title { font-size: 15px; font-weight: bold; }
svg.kbench text.case { font-weight: bold; }
svg.kbench text.quiet { fill: #59636e; }
svg.kbench .page { fill: #ffffff; }
svg.kbench .grid { stroke: #d1d9e0; }
svg.kbench .par { stroke: #59636e; }
svg.kbench .floor { stroke: #59636e; stroke-dasharray: 4 3; stroke-width: 1.5; }
svg.kbench .box, svg.kbench .margin { fill: #1f2328; fill-opacity: 0.12; }
svg.kbench .median { stroke: #1f2328; stroke-width: 2; }
svg.kbench .strip { fill: none; stroke-width: 4; stroke-linecap: round; stroke-opacity: 0.8; }
svg.kbench .interval { stroke-width: 2.5; }
svg.kbench .s1 { stroke: #0072b2; } svg.kbench .s2 { stroke: #c44e00; } svg.kbench .s3 { stroke: #00805c; }
svg.kbench .s4 { stroke: #a8508a; } svg.kbench .s5 { stroke: #806600; }
svg.kbench .faster { stroke: #00805c; } svg.kbench .slower { stroke: #c0392b; }
svg.kbench .same { stroke: #59636e; } svg.kbench .ambiguous { stroke: #806600; }
@media (prefers-color-scheme: dark) {
svg.kbench text { fill: #e6edf3; } svg.kbench text.quiet { fill: #9198a1; }
svg.kbench .page { fill: #0d1117; } svg.kbench .grid { stroke: #30363d; }
svg.kbench .par, svg.kbench .floor { stroke: #9198a1; }
svg.kbench .box, svg.kbench .margin { fill: #e6edf3; fill-opacity: 0.16; }
svg.kbench .median { stroke: #e6edf3; }
svg.kbench .s1 { stroke: #56b4e9; } svg.kbench .s2 { stroke: #ff9e64; } svg.kbench .s3 { stroke: #3dcb9a; }
svg.kbench .s4 { stroke: #e59ac4; } svg.kbench .s5 { stroke: #e6c34a; }
svg.kbench .faster { stroke: #3dcb9a; } svg.kbench .slower { stroke: #ff7b72; }
svg.kbench .same { stroke: #9198a1; } svg.kbench .ambiguous { stroke: #e6c34a; }
}
</style>"""
SESSION_COLOURS = 5


@dataclass(frozen=True)
class Axis:
    """A scale between two x coordinates."""

    scale: Scale
    left: float
    right: float

    def x(self, value: float) -> float:
        """Return the x coordinate of a value; one beyond the axis is put at its end."""
        return self.left + self.scale.at(value) * (self.right - self.left)


def text(x: float, y: float, content: str, kind: str = "", *, cells: int = 200, anchor: str = "") -> str:
    """Return a line of text with its baseline at y, at most `cells` characters wide, everything in it escaped."""
    attributes = (f' class="{kind}"' if kind else "") + (f' text-anchor="{anchor}"' if anchor else "")
    return f'<text x="{number(x)}" y="{number(y)}"{attributes}>{escaped(content, cells)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    """Return a straight line between two points."""
    return f'<line x1="{number(x1)}" y1="{number(y1)}" x2="{number(x2)}" y2="{number(y2)}" class="{kind}"/>'


def rectangle(x: float, y: float, across: float, down: float, kind: str) -> str:
    """Return a rectangle, given by its upper left corner and its size."""
    place = f'x="{number(x)}" y="{number(y)}" width="{number(across)}" height="{number(down)}"'
    return f'<rect {place} class="{kind}"/>'


def dots(points: Iterable[tuple[float, float]], kind: str) -> str:
    """Return a path with a subpath of no length for each point: a twentieth of the bytes that circles would need."""
    path = "".join(f"M{number(x)} {number(y)}h0" for x, y in points)
    return f'<path d="{path}" class="{kind}"/>'


def number(value: float) -> str:
    """Format a number with one decimal at most."""
    return f"{value:.1f}".removesuffix(".0")


def tick_labels(axis: Axis, values: Iterable[float]) -> Iterator[tuple[float, str]]:
    """Yield place and text of each value, but of none that would touch an earlier one."""
    taken: list[tuple[float, float]] = []
    for value in values:
        label, x = f"{value:,.10g}", axis.x(value)
        left, right = x - width(label) / 2, x + width(label) / 2
        if all(right + _APART <= other_left or left - _APART >= other_right for other_left, other_right in taken):
            taken.append((left, right))
            yield x, label


def width(content: str) -> float:
    """Return an upper bound of the width of a line of text."""
    return cells_of(visible(content, 200)) * CELL
