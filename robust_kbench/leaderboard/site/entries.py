"""Rows of the leaderboard as pages list them: the fields that are shown, and the place of the bar."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from robust_kbench.leaderboard.rows import Row
from robust_kbench.leaderboard.site import paths
from robust_kbench.leaderboard.site.writing import cut, visible

TERMS = ("task_version", "device", "dtype", "precision", "rule", "kbench", "task_digest")
"""Columns that have to be equal, within a task, for a common ranking."""
_LEFT, _WIDTH = 4.0, 112.0
_WIDEST = (1 / 64, 256.0)
_MAX_TEXT = 120


@dataclass(frozen=True)
class Scale:
    """Logarithmic axis of speedups from `low` to `high`. It begins below 1 and ends above it."""

    low: float
    high: float

    def place(self, value: float) -> str:
        """Return the place of a value in units of the bar's picture, not beyond its ends."""
        share = math.log(max(value, 1e-300) / self.low) / math.log(self.high / self.low)
        return f"{_LEFT + _WIDTH * min(1.0, max(0.0, share)):.1f}"


@dataclass(frozen=True)
class Bar:
    """Interval as it is drawn. `kind`: the verdict, which is a class of site.css."""

    low: str
    value: str
    high: str
    one: str
    kind: str


@dataclass(frozen=True)
class Entry:
    """Row of a ranking as a page shows it."""

    rank: int | None
    tie: bool
    page: str
    submission: str
    task: str
    task_page: str
    dtype: str
    speedup: float | None
    low: float | None
    high: float | None
    verdict: str
    bar: Bar | None
    median: float | None
    status: str
    reason: str
    language: str
    author: str
    device: str
    standing: str
    row: Row

    @property
    def family(self) -> str:
        """Family of the task; empty if the task's name is not valid."""
        return self.task.partition("/")[0] if self.task_page else ""


def told(text: str) -> str:
    """Return as much of a record's text as a list has room for, the same in the page and in its script."""
    return str(visible(cut(text, _MAX_TEXT)))


def key_of(row: Row) -> str:
    """Return the key of the submission's page that the row belongs to."""
    return paths.submission_key(row["task"], row["submission_digest"], row["device"])


def scale_of(rows: Iterable[Row]) -> Scale:
    """Return a scale over all intervals of these rows, within sensible limits. Its ends are powers of two."""
    known = [row for row in rows if row["speedup"] is not None]
    lows = [max(_WIDEST[0], row["speedup_low"]) for row in known]
    highs = [min(_WIDEST[1], row["speedup_high"]) for row in known]
    low, high = min([0.5, *lows]), max([2.0, *highs])
    return Scale(2.0 ** math.floor(math.log2(low)), 2.0 ** math.ceil(math.log2(high)))


def entry(row: Row, scale: Scale) -> Entry:
    """Make the entry of one row."""
    return Entry(
        rank=row["rank"],
        tie=bool(row["tie"]),
        page=key_of(row),
        submission=told(row["submission"]),
        task=told(row["task"]),
        task_page=paths.task_page(row["task"]),
        dtype=row["dtype"],
        speedup=row["speedup"],
        low=row["speedup_low"],
        high=row["speedup_high"],
        verdict=row["verdict"] or "",
        bar=_bar(row, scale),
        median=row["median_us"],
        status=row["status"],
        reason=row["reason"],
        language=told(row["language"]),
        author=told(row["author"]),
        device=told(row["device"]),
        standing=told(row["standing"]),
        row=row,
    )


def _bar(row: Row, scale: Scale) -> Bar | None:
    if row["speedup"] is None:
        return None
    ends = (row["speedup_low"], row["speedup"], row["speedup_high"], 1.0)
    low, value, high, one = map(scale.place, ends)
    return Bar(low, value, high, one, row["verdict"] or "same")


def best_first(rows: Iterable[Row]) -> list[Row]:
    """Sort rows: ranked ones by the lower end of their interval, highest first, then the others."""
    return sorted(rows, key=lambda row: (row["rank"] is None, -(row["speedup_low"] or 0.0), key_of(row), row["dtype"]))


def by_terms(rows: Iterable[Row]) -> dict[tuple[str, ...], list[Row]]:
    """Group the rows of a task that are ranked together, in their order; groups are in order of their terms."""
    found: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(str(row[name]) for name in TERMS), []).append(row)
    return dict(sorted(found.items()))


def coded(values: Sequence[Any]) -> Any:
    """Encode a column for a script: as it is, or with each different text once where texts repeat."""
    if not all(isinstance(value, str) for value in values):
        return list(values)
    of = sorted(set(values))
    if 2 * len(of) > len(values):
        return list(values)
    number = {text: index for index, text in enumerate(of)}
    return {"of": of, "at": [number[value] for value in values]}
