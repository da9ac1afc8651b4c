"""Pages without records: the method of measurement, and the problems of reading."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from robust_kbench.leaderboard.reading import Problem
from robust_kbench.leaderboard.rows import Row
from robust_kbench.leaderboard.site import entries, paths
from robust_kbench.leaderboard.site.writing import render, write

_MAX_PROBLEMS = 1000


def write_method(out: Path) -> list[Path]:
    """Write `method.html`, the page about the method."""
    return [write(out, paths.METHOD, render("method.html.j2", paths.METHOD))]


def write_problems(
    problems: Sequence[Problem], duplicates: int, rows: Sequence[Row], failures: Sequence[str], out: Path
) -> list[Path]:
    """Write `problems.html`. `failures`: messages about pages and tables that went wrong."""
    told = sorted({(each.where, each.what) for each in problems}, key=lambda pair: (pair[0].rpartition(":")[0], pair))
    altered = {entries.key_of(row): row for row in rows if row["standing"].startswith("altered")}
    strange = sorted({row["task"] for row in rows if not paths.is_task_name(row["task"])})
    text = render(
        "problems.html.j2", paths.PROBLEMS, problems=told[:_MAX_PROBLEMS], more=max(0, len(told) - _MAX_PROBLEMS),
        duplicates=duplicates, altered=sorted(altered.items()), failures=sorted(failures)[:_MAX_PROBLEMS],
        strange=strange[:100],
    )  # fmt: skip
    return [write(out, paths.PROBLEMS, text)]
