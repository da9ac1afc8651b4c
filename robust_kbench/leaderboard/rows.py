"""One row per submission, device, task and dtype; failures stay visible.

The first record that could be ranked only nominates: the best of many noisy measurements is best by luck as well. What
is published is the second one, an independent run, and no third can replace it. Nobody may draw again by failing: a
failure costs the rank for as long as task, rule and version stay what they are, and so does a number of runs that came
to nothing, since a submission can see to that, too.
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
    "vs", "vs_eager", "vs_compile", "nominated_speedup", "runs", "discarded", "median_us", "baseline_median_us",
    "hot_us", "floor_share", "worst_error_ratio", "cases_passed", "cases_drawn", "findings", "labels", "execution",
    "tier", "handshake", "clock", "isolation", "rule", "kbench", "seed", "submission_digest", "task_digest",
    "started_at",
)  # fmt: skip
Row = dict[str, Any]
_RANKED_TOGETHER = ("task", "task_version", "device", "dtype", "precision", "rule", "kbench")
_MAX_DISCARDED = 2
# Blamed on the submission; unsupported is the machine's affair, and told before anything is timed.
_FAILURES = frozenset({Status.INCORRECT, Status.REJECTED, Status.CRASHED, Status.TIMED_OUT, Status.BUILD_FAILED})


def rows(records: Iterable[RunRecord]) -> list[Row]:
    """Ranked and sorted rows. Harness errors are nobody's result: they are counted, and never shown."""
    histories: dict[tuple[str, ...], list[Row]] = {}
    # A run that stands in several stores is still one run.
    runs = {(each.task, each.submission_digest, each.seed, each.started_at): each for each in records}
    for record in sorted(runs.values(), key=lambda record: (record.started_at, record.seed)):
        for row in _rows_of(record):
            key = (row["task"], row["device"], row["dtype"], row["submission_digest"])
            histories.setdefault(key, []).append(row)
    published = map(_published, histories.values())
    ordered = sorted((row for row in published if row is not None), key=_order)
    for _, group in groupby(ordered, key=lambda row: tuple(row[column] for column in _RANKED_TOGETHER)):
        _rank([row for row in group if row["rank"] is not None])
    return ordered


def _published(history: Sequence[Row]) -> Row | None:
    """One row for all runs under the newest terms; None where there are harness errors alone.

    The first failure if there is any, else the second run that could be ranked, or what comes nearest to it.
    """
    told = [row for row in history if row["status"] != Status.HARNESS_ERROR]
    if not told:
        return None
    mine = [row for row in history if _terms(row) == _terms(told[-1])]
    counted = [row for row in mine if row["rank"] is not None]
    before = mine[: mine.index(counted[1])] if len(counted) > 1 else mine
    discarded = sum(row["discarded"] for row in before)
    seen: Row = {"rank": None, "runs": len(counted), "discarded": discarded}
    if (failure := next((row for row in mine if row["status"] in _FAILURES), None)) is not None:
        return {**failure, **seen}
    if discarded > _MAX_DISCARDED:
        seen["reason"] = f"not ranked: {discarded} runs came to nothing before two had counted"
    elif len(counted) > 1:
        seen |= {"rank": 0, "nominated_speedup": counted[0]["speedup"]}
    return {**(counted[:2] or told)[-1], **seen}


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
        "reason": (record.reason or record.disturbance).split("\n")[0][:200],
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
        "discarded": int(record.is_discarded),
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
        "clock": record.clock,
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
