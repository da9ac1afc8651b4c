"""Page for each task: contract, ranking, spread of times, development of records, and roofline.

Pages are rendered by worker processes, from rows, summaries and the lines of the few records whose samples are drawn.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

from robust_kbench.leaderboard.rows import Row
from robust_kbench.leaderboard.site import charts, contracts, entries, paths, spreads
from robust_kbench.leaderboard.site.cases import bound
from robust_kbench.leaderboard.site.charts import Chart, Estimate, Line, Spread
from robust_kbench.leaderboard.site.contracts import Contract
from robust_kbench.leaderboard.site.entries import Entry, Scale
from robust_kbench.leaderboard.site.lookup import load_record, run_of
from robust_kbench.leaderboard.site.roofline import roofline
from robust_kbench.leaderboard.site.writing import cut, render, write
from robust_kbench.leaderboard.summary import Summary
from robust_kbench.registry import LoadedTask
from robust_kbench.schema.record import CANDIDATE, CONTROL, RunRecord

_MAX_ROWS, _MAX_CHARTED, _MAX_GROUPS, _LEADERS = 500, 40, 24, 3
_DATE = re.compile(r"\d{4}-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d(:[0-6]\d(\.\d{1,6})?)?(Z|\+00:00)")


@dataclass(frozen=True)
class TaskOrder:
    """Order for one page, with all that a worker needs.

    `leaders`: the runs of the best rows for each group of terms.
    """

    task: str
    out: Path
    rows: tuple[Row, ...]
    leaders: Mapping[tuple[str, ...], tuple[Summary, ...]]


@dataclass(frozen=True)
class Group:
    """Group of rows that are ranked together, with the charts of them."""

    name: str
    terms: Mapping[str, str]
    entries: tuple[Entry, ...]
    left_out: int
    charts: tuple[Chart, ...]
    notes: tuple[str, ...]


def orders(rows: Iterable[Row], runs: Mapping[tuple[Any, ...], Summary], out: Path) -> list[TaskOrder]:
    """Return an order for each task with a valid name. `runs`: summaries by `lookup.run_of`."""
    tasks: dict[str, list[Row]] = {}
    for row in rows:
        if paths.is_task_name(row["task"]):
            tasks.setdefault(row["task"], []).append(row)
    return [TaskOrder(task, out, tuple(tasks[task]), _leaders(tasks[task], runs)) for task in sorted(tasks)]


def _leaders(
    rows: Sequence[Row], runs: Mapping[tuple[Any, ...], Summary]
) -> dict[tuple[str, ...], tuple[Summary, ...]]:
    found = {}
    for terms, group in list(entries.by_terms(rows).items())[:_MAX_GROUPS]:
        ranked = [row for row in entries.best_first(group) if row["rank"] is not None]
        known = [runs[key] for row in ranked[:_LEADERS] if (key := run_of(row)) in runs]
        found[terms] = tuple(known)
    return found


def subject(order: TaskOrder) -> str:
    """Return the subject of a page, for a message."""
    return order.task


def write_task(order: TaskOrder) -> list[Path]:
    """Write the page of a task; called in a worker."""
    task = contracts.load(order.task)
    told: Contract | None = contracts.contract(task) if task else None
    scale = entries.scale_of(order.rows)
    records: dict[Any, RunRecord | None] = {}
    groups = [
        _group(number, terms, rows, order, task, scale, records)
        for number, (terms, rows) in enumerate(entries.by_terms(order.rows).items())
    ]
    page = paths.task_page(order.task)
    digests = sorted({row["task_digest"] for row in order.rows})
    text = render(
        "task.html.j2", page, task=order.task, contract=told, scale=scale, groups=groups,
        submissions=len({row["submission_digest"] for row in order.rows}), count=len(order.rows),
        other_digests=", ".join(cut(digest, 23) for digest in digests if told is None or digest != told.digest),
    )  # fmt: skip
    return [write(order.out, page, text)]


def _group(
    number: int,
    terms: tuple[str, ...],
    rows: Sequence[Row],
    order: TaskOrder,
    task: LoadedTask | None,
    scale: Scale,
    records: dict[Any, RunRecord | None],
) -> Group:
    ordered = entries.best_first(rows)
    named = dict(zip(entries.TERMS, terms, strict=True))
    drawn: list[Chart] = []
    notes: list[str] = []
    if number < _MAX_GROUPS:
        leaders = order.leaders.get(terms, ())
        drawn += _interval_chart(number, named, ordered)
        drawn += _spread_chart(number, named, leaders, records)
        drawn += _history_chart(number, named, ordered)
        roof, note = roofline(f"roof-{number}", named, leaders, task.spec if task else None)
        drawn += roof
        notes += note
    return Group(
        f"{named['dtype']} on {named['device']}", named,
        tuple(entries.entry(row, scale) for row in ordered[:_MAX_ROWS]), max(0, len(ordered) - _MAX_ROWS),
        tuple(drawn), tuple(notes),
    )  # fmt: skip


def _where(terms: Mapping[str, str]) -> str:
    return f"{terms['dtype']} on {terms['device']}"


def _interval_chart(number: int, terms: Mapping[str, str], rows: Sequence[Row]) -> list[Chart]:
    known = [row for row in rows if row["speedup"] is not None][:_MAX_CHARTED]
    if not known:
        return []
    estimates = [
        Estimate(_named(row), row["speedup"], row["speedup_low"], row["speedup_high"], row["verdict"] or "same")
        for row in known
    ]
    return [
        Chart(
            f"speedups-{number}", charts.intervals(estimates),
            f"Speedups with 95 % intervals of {len(known)} submissions, {_where(terms)}; the table above has them",
            "Speedup over the fastest baseline, with its 95 % interval; right of the dotted line is faster.",
            charts.size_for(len(known)),
        )
    ]  # fmt: skip


def _named(row: Row) -> str:
    rank = "not ranked" if row["rank"] is None else f"{row['rank']}"
    return f"{rank}. {row['submission']}" if row["rank"] is not None else f"{row['submission']} ({rank})"


def _spread_chart(
    number: int, terms: Mapping[str, str], leaders: Sequence[Summary], records: dict[Any, RunRecord | None]
) -> list[Chart]:
    """Draw times of the best submissions, and of the baselines in the best one's run, binding by binding."""
    boxes: dict[str, dict[str, Spread]] = {}
    for place, run in enumerate(leaders):
        record = _record(run, records)
        if record is None:
            continue
        for timing in record.timings:
            if timing.dtype != terms["dtype"]:
                continue
            try:
                found = spreads.of_timing(timing)
            except ValueError:
                continue
            for name, spread in found.items():
                if name == CANDIDATE or (place == 0 and name != CONTROL):
                    label = f"{place + 1}. {run.submission}" if name == CANDIDATE else name
                    boxes.setdefault(label, {})[bound(timing.axes)] = spread
    if not boxes:
        return []
    return [
        Chart(
            f"spread-{number}", charts.boxes(boxes),
            f"How the times of the best submissions and of the baselines spread, {_where(terms)}",
            "Times of single calls for each timed binding of axes: the box holds the middle half with the median, the "
            "whiskers reach from 5 to 95 %. Baselines are those of the best submission's own run.",
            6,
        )
    ]  # fmt: skip


def _record(run: Summary, records: dict[Any, RunRecord | None]) -> RunRecord | None:
    if run.place not in records:
        records[run.place] = load_record(run.place)
    return records[run.place]


def _history_chart(number: int, terms: Mapping[str, str], rows: Sequence[Row]) -> list[Chart]:
    ranked = [row for row in rows if row["rank"] is not None and _DATE.fullmatch(row["started_at"])]
    ranked.sort(key=lambda row: (row["started_at"], -row["speedup_low"], row["submission"]))
    if not ranked:
        return []
    best = list(accumulate((row["speedup_low"] for row in ranked), max))
    when = [row["started_at"][:19] for row in ranked]
    texts = [
        f"{row['submission']}: {row['speedup']:.2f}× [{row['speedup_low']:.2f}, {row['speedup_high']:.2f}]"
        for row in ranked
    ]
    drawn = [
        Line("best lower end so far", when, best, style={"shape": "hv"}),
        Line(
            "submissions that are ranked", when, [row["speedup"] for row in ranked], texts,
            [row["speedup_low"] for row in ranked], [row["speedup_high"] for row in ranked], "markers",
        ),
    ]  # fmt: skip
    bounds = [bound for row in ranked for bound in (row["speedup_low"], row["speedup_high"])]
    figure = charts.lines(
        drawn,
        x={"type": "date", "title": {"text": "when the published run began, UTC"}},
        y={**charts.log_axis("speedup, log scale", bounds), "ticksuffix": "×"},
        at_one=True,
    )
    leader = max(ranked, key=lambda row: row["speedup_low"])
    return [
        Chart(
            f"history-{number}", figure,
            f"Ranking over time, {_where(terms)}: {len(ranked)} ranked submissions; {leader['submission']} leads",
            "How the best lower end of an interval rose, and which submission came when.", 5,
        )
    ]  # fmt: skip
