"""First page: all rows with filters, the tasks, and the totals of authors.

Rows beyond the first `ROWS_AT_ONCE` lie in a script.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from robust_kbench.leaderboard.rows import Row
from robust_kbench.leaderboard.site import entries, paths
from robust_kbench.leaderboard.site.charts import rounded
from robust_kbench.leaderboard.site.entries import Entry, Scale
from robust_kbench.leaderboard.site.writing import json_text, render, visible, write

ROWS_AT_ONCE = 200
COLUMNS = (
    ("rank", "Rank", "num", ""), ("submission", "Submission", "", ""), ("task", "Task", "", ""),
    ("dtype", "Dtype", "", ""), ("speedup", "Speedup [95 %]", "num", "descending"),
    ("low", "Interval", "", "descending"),
    ("median", "Median", "num", ""), ("status", "Status", "", ""), ("language", "Language", "", ""),
    ("author", "Author", "", ""), ("device", "Device", "", ""), ("standing", "Record", "", ""),
)  # fmt: skip
"""Columns of the rows: key in rows.js, heading, class, and the direction of the first sort."""
_FILTERS = (
    ("family", "Family"), ("device", "Device"), ("dtype", "Dtype"), ("language", "Language"), ("status", "Status"),
    ("author", "Author"),
)  # fmt: skip
_MAX_CHOICES = 400
_TEXTS = (
    "page", "submission", "task", "family", "dtype", "verdict", "status", "reason", "language", "author", "device",
    "standing",
)  # fmt: skip
_NUMBERS = ("rank", "speedup", "low", "high", "median")
TOTALS = {
    "author": "", "track": "", "device": "", "dtype": "", "precision": "", "kbench": "", "tasks": "count",
    "passed": "count", "fast_0": "percent", "fast_1": "percent", "fast_1.5": "percent", "fast_2": "percent",
    "fast_4": "percent", "geomean": "times", "geomean_passed": "times", "median": "times", "median_passed": "times",
    "roofline": "percent", "sol_score": "number",
}  # fmt: skip
"""Columns of the totals that a page shows, and the format of each; empty for text."""
_MAX_TOTALS = 300
_DOWNLOADS = (
    ("leaderboard.csv", "a row for each submission, device, task and dtype"),
    ("totals.csv", "authors over all tasks"),
    ("agents.csv", "runs of agents"),
    ("README.md", "the same as text"),
)


@dataclass(frozen=True)
class Filter:
    """Filter by one of the values that occur in a column."""

    name: str
    label: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class TaskCard:
    """Summary of a task on the overview. `best`: the row with the highest lower bound of all its ranked rows."""

    name: str
    page: str
    submissions: int
    ranked: int
    best: Entry | None


def write_overview(
    rows: Sequence[Row], out: Path, *, runs: int, problems: int, totals: Sequence[Mapping[str, Any]] = ()
) -> list[Path]:
    """Write `index.html` and the script with all of its rows."""
    scale = entries.scale_of(rows)
    first = [entries.entry(row, scale) for row in rows[:ROWS_AT_ONCE]]
    page = render(
        "overview.html.j2",
        paths.INDEX,
        rows=first,
        count=len(rows),
        scale=scale,
        columns=COLUMNS,
        filters=_filters(rows),
        facts=_facts(rows, runs),
        families=_families(rows, scale),
        totals=totals[:_MAX_TOTALS],
        total_columns=list(TOTALS.items()),
        problem_count=problems,
        altered=sum(row["standing"].startswith("altered") for row in rows),
        downloads=[(name, what) for name, what in _DOWNLOADS if (out / name).is_file()],
    )
    return [write(out, paths.ROWS, script(rows, scale)), write(out, paths.INDEX, page)]


def script(rows: Sequence[Row], scale: Scale) -> str:
    """Return a script with all rows by columns.

    It is a classic script, because a page that was opened from a disk may fetch nothing.
    """
    columns: dict[str, Any] = {name: entries.coded([_text(row, name) for row in rows]) for name in _TEXTS}
    columns |= {name: [_number(row, name) for row in rows] for name in _NUMBERS}
    columns["tie"] = [int(bool(row["tie"])) for row in rows]
    data = {"count": len(rows), "scale": {"low": scale.low, "high": scale.high}, "columns": columns}
    return f"window.kbenchRows = {json_text(data)};\n"


def _text(row: Row, name: str) -> str:
    if name == "page":
        return entries.key_of(row)
    if name == "family":
        return _family(row)
    return str(visible(row[name])) if name == "reason" else entries.told(row[name] or "")


def _family(row: Row) -> str:
    return str(row["task"]).partition("/")[0] if paths.is_task_name(row["task"]) else ""


def _number(row: Row, name: str) -> float | int | None:
    column = {"low": "speedup_low", "high": "speedup_high", "median": "median_us"}.get(name, name)
    value = row[column]
    return value if value is None or isinstance(value, int) else rounded(value)


def _filters(rows: Sequence[Row]) -> list[Filter]:
    found = [Filter(name, label, _choices(rows, name)) for name, label in _FILTERS]
    return [each for each in found if 1 < len(each.values) <= _MAX_CHOICES]


def _choices(rows: Iterable[Row], name: str) -> tuple[str, ...]:
    """List the values of a column, worded as in rows.js, so that a choice finds its rows."""
    return tuple(sorted({_text(row, name) for row in rows} - {""}))


def _facts(rows: Sequence[Row], runs: int) -> list[tuple[str, str, str]]:
    ranked = [row for row in rows if row["rank"] is not None]
    faster = sum(row["verdict"] == "faster" for row in ranked)
    failed = sum(row["status"] not in ("passed", "unsupported") for row in rows)
    return [
        ("submissions", f"{len({row['submission_digest'] for row in rows}):,}", f"authors: {_count(rows, 'author'):,}"),
        ("tasks", f"{_count(rows, 'task'):,}", f"families: {len({_family(row) for row in rows} - {''})}"),
        ("devices", f"{_count(rows, 'device'):,}", ""),
        ("ranked rows", f"{len(ranked):,}", f"{faster:,} faster than every baseline"),
        ("rows that failed", f"{failed:,}", "shown with their reasons"),
        ("runs on record", f"{runs:,}", ""),
    ]


def _count(rows: Iterable[Row], name: str) -> int:
    return len({row[name] for row in rows} - {""})


def _families(rows: Iterable[Row], scale: Scale) -> list[tuple[str, list[TaskCard]]]:
    tasks: dict[str, list[Row]] = {}
    for row in rows:
        if paths.is_task_name(row["task"]):
            tasks.setdefault(row["task"], []).append(row)
    cards = [_card(task, tasks[task], scale) for task in sorted(tasks)]
    return [(name, list(group)) for name, group in groupby(cards, key=lambda card: card.name.partition("/")[0])]


def _card(task: str, rows: Sequence[Row], scale: Scale) -> TaskCard:
    ranked = [row for row in rows if row["rank"] is not None]
    best = entries.best_first(ranked)[:1]
    names = {row["submission_digest"] for row in rows}
    leader = entries.entry(best[0], scale) if best else None
    return TaskCard(task, paths.task_page(task), len(names), len(ranked), leader)
