"""A run as one HTML file: what came of it, its curves, its tree, and every candidate beside its parent.

Nothing is loaded and no script may run. Code, names, ideas, notes and logs are what others wrote: each of their lines
is made visible first, and then escaped.
"""

from __future__ import annotations

import difflib
import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from robust_kbench.agents.archive import Archive, Node
from robust_kbench.agents.lineage import verdict
from robust_kbench.agents.summary import Point, Summary, summarise
from robust_kbench.schema.documents import shown

if TYPE_CHECKING:
    from robust_kbench.agents.evolution import Evolved

SUMMARY, PAGE = "summary.json", "index.html"
_MAX_LINES, _MAX_CHARACTERS = 2000, 200_000
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 380, 220, 52, 14, 12, 26
_ACROSS, _DOWN, _EDGE = 26, 34, 18
_DIGITS = (1, 2, 5)
_MAX_TICKS = 6


@dataclass(frozen=True)
class Tick:
    """A place on an axis, in pixels, and what stands there."""

    place: float
    label: str


@dataclass(frozen=True)
class Curve:
    """Best speedup over one kind of cost. Without a `path` there is nothing to draw, and `note` says why."""

    title: str
    path: str = ""
    note: str = ""
    across: tuple[Tick, ...] = ()
    up: tuple[Tick, ...] = ()
    eager: float = 0.0


@dataclass(frozen=True)
class Place:
    """A candidate in the picture of the tree. `parent` is where its first parent is."""

    number: int
    x: float
    y: float
    kind: str
    label: str
    parent: tuple[float, float] | None


@dataclass(frozen=True)
class Entry:
    """A candidate in the table, and what unfolds below it. `lines` are a diff or the whole code, each with its kind."""

    number: int
    node: Node
    kind: str
    verdict: str
    parents: tuple[tuple[int, str], ...]
    against: str
    lines: tuple[tuple[str, str], ...]
    notes: tuple[tuple[str, tuple[str, ...]], ...]
    log: tuple[str, ...]


def write(folder: Path, evolved: Evolved) -> Summary:
    """Write `summary.json` and `index.html` into the folder of a run; each is there whole or not at all."""
    summary = summarise(evolved)
    _replace(folder / SUMMARY, summary.model_dump_json(indent=2) + "\n")
    _replace(folder / PAGE, render(evolved, summary))
    return summary


def _replace(file: Path, text: str) -> None:
    fresh = file.with_name(f".{file.name}.{os.getpid()}")
    fresh.write_text(text, encoding="utf-8", errors="replace")
    fresh.replace(file)


def render(evolved: Evolved, summary: Summary) -> str:
    """The page. The same run gives the same bytes."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["shown"] = lambda value: shown(str(value))
    text = (resources.files("robust_kbench.agents") / "templates" / "page.html.j2").read_text(encoding="utf-8")
    archive = evolved.outcome.archive
    places = _places(archive)
    return environment.from_string(text).render(
        summary=summary,
        curves=_curves(summary.curve),
        frame={"width": _WIDTH, "height": _HEIGHT, "left": _LEFT, "right": _WIDTH - _RIGHT, "floor": _HEIGHT - _BOTTOM},
        places=places,
        tree_width=max(place.x for place in places) + _EDGE,
        tree_height=max(place.y for place in places) + _EDGE,
        entries=list(_entries(archive)),
    )


def _curves(points: Sequence[Point]) -> list[Curve]:
    named = (("evaluations", "evaluations"), ("tokens", "tokens"), ("usd", "US dollars"))
    return [_curve(points, axis, title) for axis, title in named]


def _curve(points: Sequence[Point], axis: str, title: str) -> Curve:
    spent = [getattr(point, axis) for point in points]
    if None in spent:
        return Curve(title, note="not known: a call had no price")
    if not spent[-1]:
        return Curve(title, note="nothing was spent")
    known = [(cost, point.best) for cost, point in zip(spent, points, strict=True) if point.best]
    if not known:
        return Curve(title, note="no kernel was right")
    low = min(1.0, *(best for _, best in known)) / 1.05
    high = max(1.0, *(best for _, best in known)) * 1.05

    most = float(spent[-1])

    def x(cost: float) -> float:
        return _LEFT + cost / most * (_WIDTH - _LEFT - _RIGHT)

    def y(speedup: float) -> float:
        return _HEIGHT - _BOTTOM - math.log(speedup / low) / math.log(high / low) * (_HEIGHT - _BOTTOM - _TOP)

    steps = "".join(f" H{x(cost):.1f} V{y(best):.1f}" for cost, best in known)
    path = f"M{x(known[0][0]):.1f} {y(known[0][1]):.1f}{steps} H{x(spent[-1]):.1f}"
    across = (Tick(x(0), "0"), Tick(x(spent[-1]), f"{spent[-1]:,.6g}"))
    up = tuple(Tick(y(value), f"{value:g}x") for value in _round_values(low, high))
    return Curve(title, path, across=across, up=up, eager=y(1.0))


def _round_values(low: float, high: float) -> list[float]:
    """Between two speedups, of which the lower is below 1: 1 and others, few enough to be read."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    every = -(-len(decades) // _MAX_TICKS)
    for digits in (_DIGITS, (1, 3)):
        found = [float(f"{digit}e{decade}") for decade in decades for digit in digits]
        found = [value for value in found if low <= value <= high]
        if len(found) <= _MAX_TICKS:
            return found
    sparse = [float(f"1e{decade}") for decade in decades if decade % every == 0]
    return [value for value in sparse if low <= value <= high]


def _places(archive: Archive) -> list[Place]:
    """Leaves side by side, a parent above the middle of its children, each generation of descent in a row."""
    numbers = {node.id: number for number, node in enumerate(archive)}
    children = {node.id: archive.children(node) for node in archive}
    ordered = list(_depth_first(archive, children))
    column: dict[str, float] = {}
    leaves = 0
    for _, node in ordered:
        if not children[node.id]:
            column[node.id], leaves = float(leaves), leaves + 1
    for _, node in reversed(ordered):
        if below := [column[child.id] for child in children[node.id]]:
            column[node.id] = (below[0] + below[-1]) / 2
    at = {node.id: (_EDGE + column[node.id] * _ACROSS, float(_EDGE + depth * _DOWN)) for depth, node in ordered}
    best = archive.best
    return [
        Place(
            numbers[node.id], *at[node.id], _kind(node, best), f"{node.id}: {verdict(node)}",
            next((at[parent] for parent in node.candidate.parents[:1]), None),
        )
        for _, node in ordered
    ]  # fmt: skip


def _depth_first(archive: Archive, children: dict[str, list[Node]]) -> Iterator[tuple[int, Node]]:
    waiting = [(0, archive.root)]
    while waiting:
        depth, node = waiting.pop()
        yield depth, node
        waiting += [(depth + 1, child) for child in reversed(children[node.id])]


def _kind(node: Node, best: Node) -> str:
    if not node.candidate.parents:
        return "root"
    if node.id == best.id:
        return "best"
    return "right" if node.is_right else "wrong"


def _entries(archive: Archive) -> Iterator[Entry]:
    numbers = {node.id: number for number, node in enumerate(archive)}
    best = archive.best
    for node in archive:
        candidate = node.candidate
        parent = next((archive[identity] for identity in candidate.parents[:1]), None)
        yield Entry(
            numbers[node.id],
            node,
            _kind(node, best),
            verdict(node),
            tuple((numbers[identity], identity) for identity in candidate.parents),
            "" if parent is None or parent.candidate.is_reference else parent.id,
            tuple(_compared(parent, node)),
            tuple((role, tuple(_visible(text))) for role, text in candidate.notes.items()),
            tuple(_visible("\n".join([node.judged.log, *node.judged.findings]).strip())),
        )


def _compared(parent: Node | None, node: Node) -> Iterator[tuple[str, str]]:
    """The difference from the parent, or all of it where that is the reference; nothing where there is no code."""
    mine = _visible(node.candidate.code)
    if not mine:
        return
    if parent is None or parent.candidate.is_reference:
        yield from (("", line) for line in mine)
        return
    theirs = _visible(parent.candidate.code)
    for line in list(difflib.unified_diff(theirs, mine, lineterm=""))[2:]:
        yield {"+": "added", "-": "removed", "@": "place"}.get(line[:1], ""), line


def _visible(text: str) -> list[str]:
    """Its lines, each of them inert and in order of reading."""
    lines = text.split("\n") if text else []
    if len(lines) > _MAX_LINES or len(text) > _MAX_CHARACTERS:
        return [f"({len(lines):,} lines of {len(text):,} characters: see lineage.json)"]
    return [shown(line.expandtabs(4)) for line in lines]
