"""Results of agents: shares of runs by speedup, best-so-far curves, cost against quality, and figures of papers.

Runs share a table or a chart only where hardware, tier, release, start and budget are equal (agents.comparison).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from robust_kbench.agents import comparison, published
from robust_kbench.agents.published import Figure as Published
from robust_kbench.agents.summary import Point, Summary
from robust_kbench.leaderboard.agents import Run
from robust_kbench.leaderboard.site import charts, paths
from robust_kbench.leaderboard.site.charts import Chart, Line
from robust_kbench.leaderboard.site.writing import cut, percent, render, times, visible, write

_MAX_GROUPS, _MAX_AGENTS, _MAX_RUNS = 12, 12, 500
_GRID = 60
_INTERVALS = "Bands, or what is told where you point, are 95 % intervals over tasks and seeds."
_AXES = (("evaluations", "evaluations"), ("tokens", "tokens"), ("usd", "US dollars"))


@dataclass(frozen=True)
class AgentRow:
    """Row of the table: an agent and model under one set of terms."""

    name: str
    llm: str
    runs: str
    cells: tuple[str, ...]


@dataclass(frozen=True)
class AgentGroup:
    """Group of runs under equal terms, with its table and its charts."""

    terms: tuple[tuple[str, str], ...]
    rows: tuple[AgentRow, ...]
    charts: tuple[Chart, ...]


@dataclass(frozen=True)
class PublishedTable:
    """Figures from the table of one paper."""

    name: str
    hardware: str
    tasks: str
    rows: tuple[tuple[str, str, str, str, str], ...]


HEADINGS = (
    "passed", "fast 1", "fast 1.5", "fast 2", "fast 1 over all baselines", "geometric mean", "failures as 1",
    "on the way", "right", "built", "tokens", "US dollars",
)  # fmt: skip


def write_agents(runs: Iterable[Run], out: Path, *, tasks: Collection[str] = ()) -> list[Path]:
    """Write the page. Without runs it holds only the figures of papers. `tasks`: the tasks that have a page."""
    known = sorted(runs, key=lambda run: (*_order(run.summary), run.folder.name))
    summaries = [run.summary for run in known]
    text = render(
        "agents.html.j2", paths.AGENTS, headings=HEADINGS, groups=_groups(summaries), published=_published(),
        runs=[(_short(run.summary, tasks), run.folder.name) for run in known[:_MAX_RUNS]],
        left_out=max(0, len(known) - _MAX_RUNS),
        rules_only=bool(summaries) and all(run.llm == ("improver",) for run in summaries),
        deviations=sorted({(run.agent, told) for run in summaries for told in run.deviations}),
    )  # fmt: skip
    return [write(out, paths.AGENTS, text)]


def _order(run: Summary) -> tuple[Any, ...]:
    return run.task, run.agent, run.llm, run.seed, run.model_dump_json()


def _short(run: Summary, tasks: Collection[str]) -> dict[str, Any]:
    return {
        "task": run.task, "task_page": paths.task_page(run.task) if run.task in tasks else "", "agent": run.agent,
        "llm": ", ".join(run.llm), "seed": run.seed, "final_status": run.final_status,
        "final": str(run.final_speedup or ""), "all": str(run.over_all or ""), "evaluations": run.evaluations,
        "tokens": run.input_tokens + run.output_tokens, "usd": run.usd, "stop": run.stop,
    }  # fmt: skip


def _groups(runs: Sequence[Summary]) -> list[AgentGroup]:
    """Group the rows of `aggregate` by the terms that have to be equal. Charts show only runs that are over."""
    if not runs:
        return []
    # Of pandas' missing values, plain ones.
    rows = [
        {str(name): None if isinstance(value, float) and math.isnan(value) else value for name, value in row.items()}
        for row in comparison.aggregate(runs).to_dict("records")
    ]
    found: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(tuple(str(row[name]) for name in comparison.TERMS), []).append(row)
    return [_group(number, terms, found[terms], runs) for number, terms in enumerate(sorted(found)[:_MAX_GROUPS])]


def _group(number: int, terms: tuple[str, ...], rows: Sequence[dict[str, Any]], runs: Sequence[Summary]) -> AgentGroup:
    mine = [run for run in runs if run.is_over and _has(run, terms)]
    by_agent: dict[str, list[Summary]] = {}
    for run in mine:
        by_agent.setdefault(_name(run), []).append(run)
    chosen = dict(sorted(by_agent.items())[:_MAX_AGENTS])
    drawn = [*_shares(number, chosen), *_curves(number, chosen), *_costs(number, rows)]
    return AgentGroup(tuple(zip(comparison.TERMS, terms, strict=True)), tuple(map(_row, rows)), tuple(drawn))


def _has(run: Summary, terms: tuple[str, ...]) -> bool:
    """Tell if a run is of these terms. A run that had nothing to judge in the end has no hardware and no tier."""
    own = (run.hardware, run.tier, run.harness, run.start, run.budget)
    return own == terms or (not run.hardware and own[2:] == terms[2:])


def _name(run: Summary) -> str:
    return f"{run.agent} with {', '.join(run.llm)}"


def _row(row: Mapping[str, Any]) -> AgentRow:
    not_counted = f", {row['not_counted']} not counted" if row["not_counted"] else ""
    cells = (
        *(_between(row, name, percent) for name in ("success", "fast_1", "fast_1.5", "fast_2", "fast_1_of_all")),
        *(_between(row, name, times) for name in ("geomean", "geomean_as_one", "area")),
        *(_between(row, name, percent) for name in ("validity", "compile_rate")),
        "" if row["tokens"] is None else f"{row['tokens']:,.0f}",
        "" if row["usd"] is None else f"{row['usd']:,.2f}",
    )
    about = f"{row['runs']} ({row['tasks']} tasks, {row['seeds']} seeds){not_counted}"
    return AgentRow(str(row["agent"]), str(row["llm"]), about, cells)


def _between(row: Mapping[str, Any], name: str, told: Callable[[float | None], str]) -> str:
    value, low, high = (row[f"{name}{end}"] for end in ("", "_low", "_high"))
    return told(value) if value is None or low is None else f"{told(value)} [{told(low)}, {told(high)}]"


def _shares(number: int, agents: Mapping[str, Sequence[Summary]]) -> list[Chart]:
    """Draw fast_p over p: the share of runs whose final kernel is right and at least p times as fast as eager."""
    if not agents:
        return []
    finals = {name: [_final(run) for run in runs] for name, runs in agents.items()}
    most = max([4.0, *(value for values in finals.values() for value in values if value < 64)])
    grid = [most * step / 120 for step in range(121)]
    drawn = [
        _averaged(name, grid, [[100.0 * (value >= p) for p in grid] for value in values], lambda mean: mean)
        for name, values in finals.items()
    ]
    figure = charts.lines(
        drawn,
        x={"type": "linear", "title": {"text": "p, speedup over eager"}, "ticksuffix": "×"},
        y={"type": "linear", "title": {"text": "share of runs"}, "ticksuffix": " %", "range": [-2, 102]},
    )
    words = "; ".join(f"{name}: fast_1 {_share(values, 1.0):.0%}" for name, values in finals.items())
    return [
        Chart(
            f"fast-{number}", figure, f"Share of runs by speedup. {words}",
            "fast_p: the share of runs whose final kernel is right and at least p times as fast as eager PyTorch; at "
            f"0, the share that is right. {_INTERVALS}", 6,
        )
    ]  # fmt: skip


def _final(run: Summary) -> float:
    """Return the final speedup. A run without a kernel that passes gets minus one, so that it is not even in fast_0."""
    return run.final_speedup.value if run.passed and run.final_speedup else -1.0


def _share(values: Sequence[float], p: float) -> float:
    return sum(value >= p for value in values) / len(values)


def _curves(number: int, agents: Mapping[str, Sequence[Summary]]) -> list[Chart]:
    """Draw the best speedup so far over the amount spent, averaged in logarithms over the runs of an agent.

    The curve is 1 before there is any.
    """
    made = []
    for axis, title in _AXES:
        drawn = [line for name, runs in agents.items() if (line := _curve(name, runs, axis)) is not None]
        if not drawn:
            continue
        values = [value for line in drawn for value in (*line.y, *line.low, *line.high) if value]
        figure = charts.lines(
            drawn,
            x={"type": "linear", "title": {"text": f"{title} spent"}, "rangemode": "tozero"},
            y={**charts.log_axis("best speedup so far, log scale", values), "ticksuffix": "×"},
            at_one=True,
        )
        ends = "; ".join(f"{line.name} ends at {times(line.y[-1])}" for line in drawn)
        made.append(
            Chart(
                f"curve-{axis}-{number}", figure, f"Best speedup so far over {title}. {ends}",
                f"Best speedup over eager so far, in the search, over {title} spent: the geometric mean over runs, "
                f"each of which counts as 1× until it has a kernel. {_INTERVALS}", 5,
            )
        )  # fmt: skip
    return made


def _curve(name: str, runs: Sequence[Summary], axis: str) -> Line | None:
    """Return the curve of an agent; None if the amount that was spent is unknown or zero."""
    spent = [[getattr(point, axis) for point in run.curve] for run in runs]
    if not spent or any(None in each or not each for each in spent):
        return None
    most = float(max(each[-1] for each in spent))
    if most <= 0:
        return None
    grid = [most * step / _GRID for step in range(_GRID + 1)]
    return _averaged(name, grid, [[math.log(_best(run.curve, axis, at)) for at in grid] for run in runs], math.exp)


def _averaged(
    name: str, grid: Sequence[float], runs: Sequence[Sequence[float]], told: Callable[[float], float]
) -> Line:
    """Return a line of `told` of the mean over runs, and of the ends of its interval; one run has no interval."""
    means = [told(sum(column) / len(runs)) for column in zip(*runs, strict=True)]
    ends = comparison.mean_intervals(runs) if len(runs) > 1 else []
    low, high = ([told(end[side]) for end in ends] for side in (0, 1))
    return Line(name, grid, means, low=low, high=high, style={"shape": "hv"})


def _best(curve: Sequence[Point], axis: str, at: float) -> float:
    known = [point.best for point in curve if getattr(point, axis) <= at and point.best]
    return known[-1] if known else 1.0


def _costs(number: int, rows: Sequence[Mapping[str, Any]]) -> list[Chart]:
    """Draw tokens and, where known, dollars against the geometric mean of final speedups with failures as one."""
    made = []
    for cost, title in (("tokens", "tokens a run"), ("usd", "US dollars a run")):
        known = [row for row in rows if row[cost] and row["geomean_as_one"]]
        if not known:
            continue
        drawn = [_cost(row, cost) for row in known[:_MAX_AGENTS]]
        bounds = [bound for line in drawn for bound in (*line.low, *line.high)]
        figure = charts.lines(
            drawn,
            x={"type": "log", "title": {"text": f"{title}, log scale"}},
            y={**charts.log_axis("final speedup, failures as 1, log scale", bounds), "ticksuffix": "×"},
            at_one=True,
        )
        words = "; ".join(f"{line.texts[0]}" for line in drawn)
        caption = "Cost against quality, with 95 % intervals over tasks and seeds: up and left is better."
        made.append(Chart(f"cost-{cost}-{number}", figure, f"Cost against quality. {words}", caption, 5))
    return made


def _cost(row: Mapping[str, Any], cost: str) -> Line:
    value = row["geomean_as_one"]
    low = value if row["geomean_as_one_low"] is None else row["geomean_as_one_low"]
    high = value if row["geomean_as_one_high"] is None else row["geomean_as_one_high"]
    name = f"{row['agent']} with {row['llm']}"
    text = f"{name}: {times(value)} for {row[cost]:,.4g} {'tokens' if cost == 'tokens' else 'US dollars'}"
    return Line(name, [float(row[cost])], [value], [text], [low], [high], "markers")


def _published() -> list[PublishedTable]:
    tables: dict[tuple[str, str, str, str], list[Published]] = {}
    for figure in published.load():
        tables.setdefault((figure.paper, figure.table, figure.hardware, figure.tasks), []).append(figure)
    return [
        PublishedTable(f"{paper}: {table}", hardware, tasks, tuple(_published_rows(figures)))
        for (paper, table, hardware, tasks), figures in sorted(tables.items())
    ]


def _published_rows(figures: Iterable[Published]) -> list[tuple[str, str, str, str, str]]:
    rows: dict[tuple[str, ...], list[Published]] = {}
    for figure in figures:
        rows.setdefault(figure.row, []).append(figure)
    return [
        (
            each[0].method, each[0].llm, each[0].subject, str(visible(cut("; ".join(map(str, each)), 900))),
            ", ".join(dict.fromkeys(figure.evidence for figure in each)),
        )
        for each in rows.values()
    ]  # fmt: skip
