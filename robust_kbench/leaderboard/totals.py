"""Totals of an author's rows over all tasks: how often faster, and by how much.

A mean over successes alone would reward failing on everything else. So each task that was attempted counts: a task
without a rank keeps PyTorch's fastest baseline and counts as a speedup of 1. The means over ranked tasks stand beside
it, with the number of those tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from robust_kbench.leaderboard import roofline
from robust_kbench.leaderboard.cells import quoted
from robust_kbench.leaderboard.rows import FAILURES, FAST_P, Row, is_left_out
from robust_kbench.timing.statistics import middle

TERMS = ("device", "kbench", "rule", "precision", "dtype")
"""Terms that have to be equal for two totals to be compared."""
_WHO = ("author", "track")
_FAST = tuple(f"fast_{p:g}" for p in FAST_P)
TOTAL_COLUMNS = (
    *TERMS, *_WHO, "tasks", "passed", "unconfirmed", *_FAST, "geomean", "median", "geomean_passed", "median_passed",
    "roofline", "roofline_tasks", "sol_score", "sol_tasks",
)  # fmt: skip
_group_of = itemgetter(*TERMS, *_WHO)
_task_of = itemgetter(*TERMS, "task")
Total = dict[str, Any]


def totals(found: Iterable[Row]) -> list[Total]:
    """Return a row for each author and track under equal terms, the highest mean first.

    A task is attempted where a row of it is ranked, or shows a failure. Of several submissions to one task the ranked
    one with the highest lower bound counts. A task with several versions counts in its newest. Rows that passed without
    a rank (one run, tier quick, a replay) are told as `unconfirmed`, where no other row of the task counts. Records
    that are left out of the ranks say nothing about an author, who may be anybody.
    """
    known = [row for row in found if not is_left_out(row)]
    newest = _newest(known)
    current = [row for row in known if row["task_version"] == newest[_task_of(row)]]
    current.sort(key=lambda row: (*map(str, _group_of(row)), row["task"]))
    groups = groupby(current, key=_group_of)
    every = [total for key, mine in groups if (total := _total(key, list(mine)))["tasks"] or total["unconfirmed"]]
    return sorted(every, key=_order)


def _newest(found: Iterable[Row]) -> dict[tuple[Any, ...], int]:
    newest: dict[tuple[Any, ...], int] = {}
    for row in found:
        task, version = _task_of(row), row["task_version"]
        newest[task] = max(version, newest.get(task, version))
    return newest


def _total(key: Sequence[Any], mine: Sequence[Row]) -> Total:
    by_task = [list(same) for _, same in groupby(mine, key=lambda row: row["task"])]
    best = [_best(same) for same in by_task]
    ranked = [row for row in best if row is not None]
    failed = sum(row is None and _has_failed(same) for row, same in zip(best, by_task, strict=True))
    passed = sum(row is None and _has_passed(same) for row, same in zip(best, by_task, strict=True))
    speedups = [row["speedup"] for row in ranked]
    attempted = [*speedups, *[1.0] * failed]
    shares, scores = _known(ranked, "roofline"), _known(ranked, "sol_score")
    return {
        **dict(zip((*TERMS, *_WHO), key, strict=True)),
        "tasks": len(attempted),
        "passed": len(ranked),
        "unconfirmed": passed,
        **{name: _fast(speedups, p, len(attempted)) for name, p in zip(_FAST, FAST_P, strict=True)},
        "geomean": roofline.geometric_mean(attempted),
        "median": middle(attempted) if attempted else None,
        "geomean_passed": roofline.geometric_mean(speedups),
        "median_passed": middle(speedups) if speedups else None,
        "roofline": roofline.geometric_mean(shares),
        "roofline_tasks": len(shares),
        "sol_score": roofline.mean(scores),
        "sol_tasks": len(scores),
    }


def _best(rows: Sequence[Row]) -> Row | None:
    ranked = [row for row in rows if row["rank"] is not None]
    return max(ranked, key=lambda row: (row["speedup_low"], row["speedup"]), default=None)


def _has_failed(rows: Sequence[Row]) -> bool:
    return any(row["status"] in FAILURES for row in rows)


def _has_passed(rows: Sequence[Row]) -> bool:
    return not _has_failed(rows) and any(row["status"] == "passed" for row in rows)


def _known(rows: Sequence[Row], column: str) -> list[float]:
    return [row[column] for row in rows if row[column] is not None]


def _fast(speedups: Sequence[float], least: float, tasks: int) -> float | None:
    """Return the share of all attempted tasks that is more than `least` times as fast; None if there are no tasks."""
    return sum(each > least for each in speedups) / tasks if tasks else None


def _order(total: Total) -> tuple[Any, ...]:
    return (*(str(total[name]) for name in TERMS), -(total["geomean"] or 0.0), *(str(total[name]) for name in _WHO))


def to_markdown(every: Sequence[Total]) -> str:
    """Return a table for each set of terms; empty if there is nothing to add up."""
    parts = []
    for terms, group in groupby(every, key=itemgetter(*TERMS)):
        device, kbench, rule, precision, dtype = (quoted(str(value)) for value in terms)
        about = f"{dtype} on {device}, contract {precision}, rule {rule}, kbench {kbench}:"
        parts += [about, "", *_HEAD, *map(_line, group), ""]
    return "\n".join(parts)


_HEAD = (
    f"| author | track | tasks | passed | {' | '.join(_FAST)} | geometric mean | of passed | median | of passed "
    "| of the floor | SOL score |",
    f"|---|---|---:|---:|{'---:|' * len(_FAST)}---:|---:|---:|---:|---:|---:|",
)


def _line(total: Total) -> str:
    def told(name: str, form: Callable[[float], str]) -> str:
        return "" if total[name] is None else form(total[name])

    cells = (
        quoted(total["author"]), quoted(total["track"]), str(total["tasks"]), str(total["passed"]),
        *(told(name, "{:.0%}".format) for name in _FAST),
        *(told(name, "{:.2f}x".format) for name in ("geomean", "geomean_passed", "median", "median_passed")),
        told("roofline", "{:.0%}".format), told("sol_score", "{:.2f}".format),
    )  # fmt: skip
    return f"| {' | '.join(cells)} |"
