"""Page for each submission on each device: verdict, intervals, spread of times, cases, findings, source, history.

Pages are rendered by worker processes: samples and cases stay in the stores, and a worker reads the line of the
published run again. A page is about one digest. Dtypes whose published runs differ are shown one after the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from robust_kbench.leaderboard.confirmation import Confirmation
from robust_kbench.leaderboard.rows import Row, is_left_out
from robust_kbench.leaderboard.site import cases, charts, entries, lookup, paths, sources, spreads
from robust_kbench.leaderboard.site.cases import CaseGroup, Failing, bound
from robust_kbench.leaderboard.site.charts import Chart, Estimate, Spread
from robust_kbench.leaderboard.site.lookup import load_record, run_of
from robust_kbench.leaderboard.site.writing import micro, render, times, write
from robust_kbench.leaderboard.summary import Binding, Summary
from robust_kbench.schema.record import CANDIDATE, CONTROL, RunRecord, Timing

_MAX_RUNS, _MAX_HISTORY, _MAX_TIMINGS = 4, 200, 48


@dataclass(frozen=True)
class SubmissionOrder:
    """Order for one page, with all that a worker needs.

    `published`: the runs that rows are from. `history`: all runs of the submission.
    """

    key: str
    out: Path
    rows: tuple[Row, ...]
    published: tuple[Summary, ...]
    history: tuple[Summary, ...]
    source: Path | None
    confirmations: tuple[Confirmation, ...]


@dataclass(frozen=True)
class BindingLine:
    """Line of the table for a timed binding. `others`: each baseline with its speedup and its median."""

    axes: str
    binding: Binding
    candidate: str
    others: tuple[str, ...]


@dataclass(frozen=True)
class RunShown:
    """Run as the page shows it in full."""

    number: int
    run: Summary
    record: RunRecord
    dtypes: str
    bindings: tuple[BindingLine, ...]
    charts: tuple[Chart, ...]
    groups: tuple[CaseGroup, ...]
    failing: tuple[Failing, ...]
    environment: tuple[tuple[str, str], ...]
    findings: tuple[tuple[str, str, str, str, str], ...]
    command: str


def orders(
    rows: Iterable[Row],
    runs: Sequence[Summary],
    out: Path,
    *,
    folders: Mapping[str, Path],
    confirmations: Iterable[Confirmation],
) -> list[SubmissionOrder]:
    """Return an order for each page, in order of their names."""
    by_page: dict[str, list[Row]] = {}
    for row in rows:
        by_page.setdefault(entries.key_of(row), []).append(row)
    for mine in by_page.values():
        mine.sort(key=lambda row: (is_left_out(row), row["dtype"], row["rank"] is None))
    history: dict[str, dict[tuple[Any, ...], Summary]] = {}
    for run in runs:
        key = paths.submission_key(run.task, run.submission_digest, run.device)
        history.setdefault(key, {}).setdefault(lookup.key_of(run), run)
    told: dict[str, list[Confirmation]] = {}
    for confirmation in confirmations:
        told.setdefault(confirmation.record, []).append(confirmation)
    return [_order(key, by_page[key], history.get(key, {}), out, folders, told) for key in sorted(by_page)]


def _order(
    key: str,
    rows: Sequence[Row],
    runs: Mapping[tuple[Any, ...], Summary],
    out: Path,
    folders: Mapping[str, Path],
    told: Mapping[str, Sequence[Confirmation]],
) -> SubmissionOrder:
    published = dict.fromkeys(run_of(row) for row in rows)
    return SubmissionOrder(
        key=key,
        out=out,
        rows=tuple(rows),
        published=tuple(runs[each] for each in published if each in runs),
        history=tuple(replace(runs[each], bindings=()) for each in sorted(runs, key=lambda each: (each[4], each[3]))),
        source=folders.get(rows[0]["submission_digest"]),
        confirmations=tuple(each for run in runs.values() if run.digest for each in told.get(run.digest, ())),
    )


def subject(order: SubmissionOrder) -> str:
    """Return the subject of a page, for a message."""
    return f"{order.rows[0]['task']}, {order.rows[0]['submission']}"


def write_submission(order: SubmissionOrder) -> list[Path]:
    """Write the page of a submission; called in a worker."""
    scale = entries.scale_of(order.rows)
    shown = [_shown(number, run, order.rows) for number, run in enumerate(order.published[:_MAX_RUNS], start=1)]
    first = order.rows[0]
    page = paths.submission_page(order.key)
    known = sources.files(order.source, first["submission_digest"]) if order.source is not None else []
    text = render(
        "submission.html.j2", page, first=first, task_page=paths.task_page(first["task"]), scale=scale,
        entries=[entries.entry(row, scale) for row in order.rows],
        runs=[each for each in shown if each is not None], lost=len([each for each in shown if each is None]),
        history=[_past(run, order.rows) for run in order.history[-_MAX_HISTORY:]],
        older=max(0, len(order.history) - _MAX_HISTORY),
        sources=known, confirmations=order.confirmations,
    )  # fmt: skip
    return [write(order.out, page, text)]


def _shown(number: int, run: Summary, rows: Sequence[Row]) -> RunShown | None:
    """Return a run to be shown; None if the line of its record cannot be read any more."""
    record = load_record(run.place)
    if record is None:
        return None
    mine = [row["dtype"] for row in rows if run_of(row) == lookup.key_of(run)]
    return RunShown(
        number=number,
        run=run,
        record=record,
        dtypes=", ".join(mine),
        bindings=tuple(_line(each) for each in run.bindings),
        charts=(*_interval_chart(number, run), *_spread_charts(number, record)),
        groups=tuple(cases.groups(record.cases)),
        failing=tuple(cases.failing(record.cases)),
        environment=tuple(sorted(record.environment.items())),
        findings=tuple(_finding(each) for each in sorted(record.findings, key=lambda each: each.severity != "reject")),
        command=_command(record),
    )


def _line(each: Binding) -> BindingLine:
    others = [
        f"{name} {times(each.speedups[name].value)} ({micro(each.medians_us.get(name))})" for name in each.speedups
    ]
    return BindingLine(bound(each.axes), each, micro(each.medians_us.get(CANDIDATE)), tuple(others))


def _finding(each: Any) -> tuple[str, str, str, str, str]:
    evidence = ", ".join(f"{name} = {value}" for name, value in each.evidence.items())
    return each.severity, each.guard, each.message, each.case or "", evidence


def _command(record: RunRecord) -> str:
    """Return the command that repeats a run, of our words and numbers alone.

    The reader fills in the submission's path.
    """
    return f"kbench evaluate path/to/submission --device {record.device} --tier {record.tier} --seed {record.seed:d}"


def _interval_chart(number: int, run: Summary) -> list[Chart]:
    estimates = [
        Estimate(f"{each.dtype} {bound(each.axes)}", *_bounds(each), kind=str(each.verdict)) for each in run.bindings
    ]
    if not estimates:
        return []
    return [
        Chart(
            f"intervals-{number}", charts.intervals(estimates[:_MAX_TIMINGS]),
            f"Speedups with 95 % intervals on {len(estimates)} timed bindings; the table has the numbers",
            "Speedup over the fastest baseline on each timed binding, with its 95 % interval.",
            charts.size_for(len(estimates)),
        )
    ]  # fmt: skip


def _bounds(each: Binding) -> tuple[float, float, float]:
    return each.speedup.value, each.speedup.low, each.speedup.high


def _spread_charts(number: int, record: RunRecord) -> list[Chart]:
    made = []
    for place, timing in enumerate(record.timings[:_MAX_TIMINGS]):
        figure, words = _spread(timing)
        if figure is not None:
            made.append(Chart(f"spread-{number}-{place}", figure, words, words, 5))
    return made


def _spread(timing: Timing) -> tuple[charts.Figure | None, str]:
    """Draw a box for each contestant and session, with a label; None if the samples are damaged or missing."""
    try:
        sessions = {
            f"session {place}": found
            for place, samples in enumerate(timing.named, start=1)
            if (found := spreads.of_session(samples))
        }
    except ValueError:
        return None, ""
    if not sessions:
        return None, ""
    calls = sum(each[CANDIDATE].count for each in sessions.values() if CANDIDATE in each)
    has_control = any(CONTROL in each for each in sessions.values())
    words = f"Times of {timing.dtype} {bound(timing.axes)}: {calls} calls of the candidate in {len(sessions)} sessions"
    more = f"; the control is a second worker of `{timing.controlled}`" if has_control else ""
    medians = ", ".join(f"{name} {micro(value)}" for name, value in _medians(sessions).items())
    figure = charts.boxes(sessions, floor_us=timing.floor_us)
    return figure, f"{words}. Medians: {medians}. Whiskers reach from 5 to 95 %{more}."


def _medians(sessions: Mapping[str, Mapping[str, Spread]]) -> dict[str, float]:
    """Compute for each contestant the median of its sessions' medians."""
    found: dict[str, list[float]] = {}
    for spread in sessions.values():
        for name, each in spread.items():
            found.setdefault(name, []).append(each.quantiles_us[2])
    return {name: median(values) for name, values in found.items()}


@dataclass(frozen=True)
class Past:
    """Run in the history. `counts`: the role that it has for the rows of this page."""

    run: Summary
    speedups: str
    counts: str


def _past(run: Summary, rows: Sequence[Row]) -> Past:
    mine = [row["dtype"] for row in rows if run_of(row) == lookup.key_of(run)]
    if mine:
        counts = "published"
    elif run.is_discarded:
        counts = "came to nothing"
    elif run.is_rankable:
        counts = "could be ranked"
    else:
        counts = "shown only"
    timed = [(dtype, each.speedup) for dtype, each in sorted(run.scores.items())]
    found = [f"{dtype} {times(speedup.value)}" for dtype, speedup in timed if speedup is not None]
    return Past(run, ", ".join(found), counts)
