"""Rows of the leaderboard: one per submission, device, task and dtype. Failures stay visible.

The first record that could be ranked only nominates: the best of many noisy measurements is best by luck as well. The
second one, an independent run, is published, and no third can replace it. Failing gives no right to draw again: a
failure costs the rank for as long as task, rule and version stay the same. A number of runs that came to nothing costs
the rank as well, since a submission can cause them.

Records that were altered have rows of their own without a rank. So have records that no trusted key has signed, where
keys are trusted. Their authors can neither win nor cost somebody else a rank.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from robust_kbench.leaderboard.summary import DtypeLine, Summary, distinct
from robust_kbench.schema.record import Status
from robust_kbench.timing.statistics import Ratio

if TYPE_CHECKING:
    from robust_kbench.leaderboard.confirmation import Confirmation

COLUMNS = (
    "task", "task_version", "device", "dtype", "rank", "submission", "author", "language", "abi", "track",
    "precision", "status", "reason", "verdict", "speedup", "speedup_low", "speedup_high", "margin", "worst_speedup",
    "vs", "vs_eager", "vs_compile", "nominated_speedup", "runs", "discarded", "median_us", "baseline_median_us",
    "hot_us", "floor_share", "worst_error_ratio", "cases_passed", "cases_drawn", "findings", "labels", "execution",
    "tier", "handshake", "clock", "isolation", "rule", "kbench", "seed", "submission_digest", "task_digest",
    "started_at", "vs_eager_low", "vs_eager_high", "vs_compile_low", "vs_compile_high", "roofline", "sol_score",
    "dtype_fast", "standing", "same_source_as", "tie", "record",
)  # fmt: skip
FAST_P = (0, 1, 1.5, 2, 4)
"""Thresholds p of fast_p: right, and more than p times as fast as the fastest baseline."""
Row = dict[str, Any]
_ranked_with = itemgetter("task", "task_version", "device", "dtype", "precision", "rule", "kbench", "task_digest")
"""Key that is equal in rows that are ranked together."""
_MAX_DISCARDED = 2
_KEY_DIGITS = 8
_NOBODY = "self-reported"
_ALTERED = "not ranked: the record is not what was sealed"
_UNTRUSTED = "not ranked: not signed by a trusted key"
# Blamed on the submission; unsupported is the machine's affair, and told before anything is timed.
FAILURES = frozenset({Status.INCORRECT, Status.REJECTED, Status.CRASHED, Status.TIMED_OUT, Status.BUILD_FAILED})


class _Run(NamedTuple):
    """Dtype of one record. `counts`: the run may be ranked, or confirm one that is."""

    summary: Summary
    line: DtypeLine
    counts: bool

    @property
    def terms(self) -> tuple[Any, ...]:
        """Terms of the run. Runs under other terms neither confirm nor refute it."""
        each = self.summary
        return (each.task_version, each.precision, each.rule, each.kbench, each.task_digest)


def rows(
    summaries: Iterable[Summary],
    trusted: frozenset[str] = frozenset(),
    confirmations: Iterable[Confirmation] = (),
) -> list[Row]:
    """Return ranked and sorted rows. Harness errors are no results: they are counted, and never shown.

    `trusted`: keys, one of which must have signed a record that is ranked, and a confirmation that counts. By default
    every record and confirmation is accepted.
    """
    runs = distinct(summaries, trusted)
    histories: dict[tuple[Any, ...], list[_Run]] = {}
    for each in runs:
        left_out = _why_left_out(each, trusted)
        for dtype, line in each.scores.items():
            counts = each.is_rankable and line.speedup is not None and line.is_resolved and not left_out
            key = (each.task, each.device, dtype, each.submission_digest, left_out)
            histories.setdefault(key, []).append(_Run(each, line, counts))
    published = (_published(history, key[-1]) for key, history in histories.items())
    ordered = sorted((row for row in published if row is not None), key=_order)
    for _, group in groupby(ordered, key=_ranked_with):
        _rank([row for row in group if row["rank"] is not None])
    _tell_where_from(
        ordered, [each for each in runs if not _why_left_out(each, trusted)], _verified(confirmations, trusted)
    )
    return ordered


def _why_left_out(each: Summary, trusted: frozenset[str]) -> str:
    """Return the reason to leave a record out; empty if it was not altered and its signer may be ranked."""
    if each.intact is False:
        return _ALTERED
    return _UNTRUSTED if trusted and each.signer not in trusted else ""


def is_left_out(row: Row) -> bool:
    """Tell if the row is no result, because its record was altered or its signer is not known or not trusted."""
    return row["standing"].startswith("altered") or "not trusted" in row["standing"]


def _published(history: Sequence[_Run], left_out: str) -> Row | None:
    """Return one row for all runs under the newest terms; None if there are harness errors alone.

    The row shows the first failure, if any. Else it shows the second run that could be ranked, else the first of them,
    else the latest run.
    """
    told = [run for run in history if run.summary.status != Status.HARNESS_ERROR]
    if not told:
        return None
    mine = [run for run in history if run.terms == told[-1].terms]
    counted = [run for run in mine if run.counts]
    before = mine[: mine.index(counted[1])] if len(counted) > 1 else mine
    discarded = sum(run.summary.is_discarded for run in before)
    # Whoever handed it in first: a second run by somebody else is no work of theirs.
    first = history[0].summary
    seen: Row = {"runs": len(counted), "discarded": discarded, "submission": first.submission, "author": first.author}
    if (failure := next((run for run in mine if run.summary.status in FAILURES), None)) is not None:
        return {**_row(failure, left_out), **seen}
    row = _row((counted[:2] or told)[-1], left_out)
    if left_out:
        seen["reason"] = row["reason"] or left_out
    elif discarded > _MAX_DISCARDED:
        seen["reason"] = f"not ranked: {discarded} runs came to nothing before two had counted"
    elif len(counted) > 1:
        nominated = counted[0].line.speedup
        seen |= {"rank": 0, "nominated_speedup": nominated.value if nominated else None}
    return {**row, **seen}


def _row(run: _Run, left_out: str) -> Row:
    """Return the row of one run, without the cells that only all runs together tell."""
    each, line, _ = run
    return {
        "task": each.task,
        "task_version": each.task_version,
        "device": each.device,
        "dtype": line.dtype,
        "rank": None,
        "submission": each.submission,
        "author": each.author,
        "language": each.language,
        "abi": each.abi,
        "track": each.track,
        "precision": each.precision,
        "status": each.status,
        "reason": each.reason,
        "verdict": line.verdict,
        **_ratio("speedup", line.speedup),
        "margin": line.margin,
        "worst_speedup": line.worst_speedup,
        "vs": line.fastest,
        "vs_eager": line.vs_eager.value if line.vs_eager else None,
        "vs_compile": line.vs_compile.value if line.vs_compile else None,
        "nominated_speedup": None,
        "runs": 0,
        "discarded": 0,
        "median_us": line.median_us,
        "baseline_median_us": line.baseline_median_us,
        "hot_us": line.hot_us,
        "floor_share": line.floor_share,
        "worst_error_ratio": line.worst_error_ratio,
        "cases_passed": line.cases_passed,
        "cases_drawn": line.cases_drawn,
        "findings": len(each.findings),
        "labels": "; ".join(each.labels),
        "execution": each.execution,
        "tier": each.tier,
        "handshake": each.handshake,
        "clock": each.clock,
        "isolation": "+".join(each.isolation),
        "rule": each.rule,
        "kbench": each.kbench,
        "seed": each.seed,
        "submission_digest": each.submission_digest,
        "task_digest": each.task_digest,
        "started_at": each.started_at,
        **_bounds("vs_eager", line.vs_eager),
        **_bounds("vs_compile", line.vs_compile),
        "roofline": line.floor_share,
        "sol_score": line.sol_score,
        "dtype_fast": None,
        "standing": _standing(each, left_out),
        "same_source_as": "",
        "tie": 0,
        "record": each.digest,
    }


def _ratio(name: str, ratio: Ratio | None) -> Row:
    return {name: ratio.value if ratio else None, **_bounds(name, ratio)}


def _bounds(name: str, ratio: Ratio | None) -> Row:
    return {f"{name}_low": ratio.low if ratio else None, f"{name}_high": ratio.high if ratio else None}


def _standing(each: Summary, left_out: str) -> str:
    if each.intact is False:
        return "altered"
    who = f"signed by {each.signer[:_KEY_DIGITS]}…" if each.signer else _NOBODY
    return f"{who}; not trusted" if left_out else who


def _order(row: Row) -> tuple[Any, ...]:
    group = map(str, _ranked_with(row))
    ranked_first = (row["rank"] is None, -(row["speedup_low"] or 0.0))
    return (*group, *ranked_first, row["submission"], row["submission_digest"], row["standing"], row["record"])


def _rank(ranked: Sequence[Row]) -> None:
    """Rank by the lower bound of the interval; rows with equal bounds share a rank."""
    for position, row in enumerate(ranked, start=1):
        tie = position > 1 and row["speedup_low"] == ranked[position - 2]["speedup_low"]
        row["rank"] = ranked[position - 2]["rank"] if tie else position
        row["dtype_fast"] = max((p for p in FAST_P if row["speedup"] > p), default=None)
    shared = Counter(row["rank"] for row in ranked)
    for row in ranked:
        row["tie"] = int(shared[row["rank"]] > 1)


def _tell_where_from(found: Iterable[Row], runs: Iterable[Summary], verified: Mapping[str, bool]) -> None:
    """Tell in each row the earliest other name of the same sources, and the result of running the record again."""
    names: dict[str, dict[str, None]] = {}
    for each in runs:
        names.setdefault(each.submission_digest, {})[each.submission] = None
    for row in found:
        others = (name for name in names.get(row["submission_digest"], ()) if name != row["submission"])
        row["same_source_as"] = next(others, "")
        if row["record"] in verified and not is_left_out(row):
            word = "confirmed by verify" if verified[row["record"]] else "contradicted by verify"
            known = "" if row["standing"] == _NOBODY else f"{row['standing']}; "
            row["standing"] = known + word


def _verified(confirmations: Iterable[Confirmation], trusted: frozenset[str]) -> dict[str, bool]:
    """Map a record to True if every run again confirms its verdict and, where that could be told, its speed."""
    found: dict[str, bool] = {}
    for each in confirmations:
        if each.record and (not trusted or each.by in trusted):
            holds = each.verdict_confirmed and each.speed_confirmed is not False
            found[each.record] = found.get(each.record, True) and holds
    return found
