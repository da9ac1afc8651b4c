"""One row per submission, device, task and dtype; failures stay visible.

The first record that could be ranked only nominates: the best of many noisy measurements is best by luck as well. What
is published is the second one, an independent run, and no third can replace it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from robust_kbench.schema.record import RunRecord, Status
from robust_kbench.scoring import DtypeScore, score

COLUMNS = (
    "task", "task_version", "device", "dtype", "rank", "submission", "author", "language", "abi", "track",
    "precision", "status", "reason", "verdict", "speedup", "speedup_low", "speedup_high", "margin", "worst_speedup",
    "vs", "vs_eager", "vs_compile", "nominated_speedup", "runs", "median_us", "baseline_median_us", "hot_us",
    "floor_share", "worst_error_ratio", "cases_passed", "cases_drawn", "findings", "labels", "execution", "tier",
    "handshake", "isolation", "rule", "kbench", "seed", "submission_digest", "task_digest", "started_at",
)  # fmt: skip
Row = dict[str, Any]
_RANKED_TOGETHER = ("task", "task_version", "device", "dtype", "precision", "rule", "kbench")


def rows(records: Iterable[RunRecord]) -> list[Row]:
    """Ranked and sorted rows. Harness errors are nobody's result and never appear."""
    histories: dict[tuple[str, ...], list[Row]] = {}
    for record in sorted(records, key=lambda record: record.started_at):
        if record.status is Status.HARNESS_ERROR:
            continue
        for row in _rows_of(record):
            key = (row["task"], row["device"], row["dtype"], row["submission_digest"])
            histories.setdefault(key, []).append(row)
    ordered = sorted(map(_published, histories.values()), key=_order)
    for _, group in groupby(ordered, key=lambda row: tuple(row[column] for column in _RANKED_TOGETHER)):
        _rank([row for row in group if row["rank"] is not None])
    return ordered


def _published(history: Sequence[Row]) -> Row:
    """The newest row, or, where that could be ranked, the second one since the last failure and the last change."""
    newest = history[-1]
    runs: list[Row] = []
    for row in history:
        if row["status"] != Status.PASSED.value or _terms(row) != _terms(newest):
            runs.clear()
        elif row["rank"] is not None:
            runs.append(row)
    if not runs or newest["status"] != Status.PASSED.value:
        return newest
    if len(runs) == 1:
        return {**runs[0], "rank": None, "runs": 1}
    return {**runs[1], "runs": len(runs), "nominated_speedup": runs[0]["speedup"]}


def _terms(row: Row) -> tuple[Any, ...]:
    return tuple(row[column] for column in (*_RANKED_TOGETHER, "task_digest"))


def _rows_of(record: RunRecord) -> list[Row]:
    scores = score(record)
    return [_row(record, dtype, scores.get(dtype)) for dtype in record.dtypes]


def _row(record: RunRecord, dtype: str, scored: DtypeScore | None) -> Row:
    mine = [case for case in record.cases if case.dtype == dtype]
    ratios = [case.error_ratio for case in mine if case.error_ratio is not None]
    speedup = scored.speedup if scored else None
    is_ranked = record.is_rankable and speedup is not None
    return {
        "task": record.task,
        "task_version": record.task_version,
        "device": record.environment.get("device", record.device),
        "dtype": dtype,
        "rank": 0 if is_ranked else None,
        "submission": record.submission,
        "author": record.author,
        "language": record.language,
        "abi": record.abi,
        "track": record.track,
        "precision": record.precision,
        "status": record.status.value,
        "reason": record.reason.split("\n")[0][:200],
        "verdict": scored.verdict.value if scored else None,
        "speedup": speedup.value if speedup else None,
        "speedup_low": speedup.low if speedup else None,
        "speedup_high": speedup.high if speedup else None,
        "margin": scored.margin if scored else None,
        "worst_speedup": scored.worst.speedup.value if scored else None,
        "vs": scored.fastest if scored else None,
        "vs_eager": scored.against("eager") if scored else None,
        "vs_compile": scored.against("compile") if scored else None,
        "nominated_speedup": None,
        "runs": int(is_ranked),
        "median_us": scored.median_us("candidate") if scored else None,
        "baseline_median_us": _fastest_median(scored) if scored else None,
        "hot_us": scored.hot_us if scored else None,
        "floor_share": scored.floor_share if scored else None,
        "worst_error_ratio": max(ratios, default=None),
        "cases_passed": sum(case.status == "passed" for case in mine),
        "cases_drawn": len(mine),
        "findings": len(record.findings),
        "labels": "; ".join(record.labels),
        "execution": record.execution,
        "tier": record.tier,
        "handshake": record.handshake,
        "isolation": "+".join(record.isolation),
        "rule": record.rule,
        "kbench": record.environment.get("kbench", ""),
        "seed": record.seed,
        "submission_digest": record.submission_digest,
        "task_digest": record.task_digest,
        "started_at": record.started_at,
    }


def _fastest_median(scored: DtypeScore) -> float | None:
    return scored.median_us(scored.cases[0].fastest) if "+" not in scored.fastest else None


def _order(row: Row) -> tuple[Any, ...]:
    group = tuple(str(row[column]) for column in _RANKED_TOGETHER)
    ranked_first = (row["rank"] is None, -(row["speedup_low"] or 0.0))
    return (*group, *ranked_first, row["submission"], row["submission_digest"])


def _rank(ranked: Sequence[Row]) -> None:
    """Rank by the lower bound of the interval; rows with equal bounds share a rank."""
    for position, row in enumerate(ranked, start=1):
        tie = position > 1 and row["speedup_low"] == ranked[position - 2]["speedup_low"]
        row["rank"] = ranked[position - 2]["rank"] if tie else position
