"""Runs of agents, read from their folders, and a table of them.

A folder may come from anybody. A file that is no summary, or has values that cannot be computed with, is reported as a
problem.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from robust_kbench.agents import comparison
from robust_kbench.agents.summary import Interval, Summary
from robust_kbench.errors import SpecError
from robust_kbench.leaderboard.cells import to_csv as cells_to_csv
from robust_kbench.leaderboard.reading import Problem
from robust_kbench.schema.documents import Strict, parse

_FILE = "summary.json"
_MAX_BYTES = 8 * 1024 * 1024
_MOST = 1e15
_AXES = frozenset({"evaluations", "tokens", "usd"})
_FIGURES = (
    "success", "fast_1", "fast_1.5", "fast_2", "fast_1_of_all", "validity", "compile_rate", "parse_rate",
    "distinct_rate", "plan_rate", "repair_rate", "geomean", "geomean_as_one", "over_start", "over_start_as_one", "area",
    "gap", "median", "median_as_one",
)  # fmt: skip
AGENT_COLUMNS = (
    "agent", "agent_digest", "llm", *comparison.TERMS, "runs", "tasks", "seeds", "not_counted",
    *(f"{name}{end}" for name in _FIGURES for end in ("", "_low", "_high")), "evaluations", "calls", "tokens", "usd",
)  # fmt: skip


@dataclass(frozen=True)
class Run:
    """Run of `kbench evolve`, or one run of a sweep, and its folder."""

    folder: Path
    summary: Summary


@dataclass(frozen=True)
class Runs:
    """Runs in order of task, agent, models and seed, and the problems of reading them."""

    runs: list[Run]
    problems: list[Problem]


def load(folders: Sequence[Path]) -> Runs:
    """Load every run below these folders once. Links are not followed."""
    files = sorted({path.resolve(): path for folder in folders for path in sorted(folder.rglob(_FILE))}.values())
    runs: list[Run] = []
    problems: list[Problem] = []
    for file in files:
        try:
            runs.append(Run(file.parent, _read(file)))
        except SpecError as error:
            problems.append(Problem.at(str(file), error))
    return Runs(sorted(runs, key=_order), problems)


def _order(run: Run) -> tuple[Any, ...]:
    each = run.summary
    return (each.task, each.agent, each.agent_digest, each.llm, each.seed, each.model_dump_json(), str(run.folder))


def _read(file: Path) -> Summary:
    try:
        if file.is_symlink() or not file.is_file() or file.stat().st_size > _MAX_BYTES:
            raise SpecError(f"{file}: not a file of at most {_MAX_BYTES:,} bytes")
        data = json.loads(file.read_bytes())
    except OSError as error:
        raise SpecError(f"{file}: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise SpecError(f"{file}: not JSON") from None
    if not isinstance(data, dict):
        raise SpecError(f"{file}: not the summary of a run")
    summary = parse(Summary, data, str(file))  # no deeper than what was just read
    if objection := next(_objections(summary), ""):
        raise SpecError(f"{file}: {objection}")
    return summary


def _objections(run: Summary) -> Iterator[str]:
    """Yield objections to values that every mean of ratios needs and that no schema checks."""
    if run.area.keys() != _AXES:
        yield f"area: expected {', '.join(sorted(_AXES))}"
    ratios: dict[str, Interval | None] = {
        name: getattr(run, name) for name in ("best_speedup", "final_speedup", "over_all", "over_start")
    }
    bounds = {name: (each.value, each.low, each.high) for name, each in ratios.items() if each is not None}
    plain = {**{f"area.{name}": value for name, value in run.area.items()}, "gap": run.gap}
    known: dict[str, tuple[float, ...]] = {name: (value,) for name, value in plain.items() if value is not None}
    known |= {**bounds, "curve": tuple(point.best for point in run.curve if point.best is not None)}
    for name, values in known.items():
        if not all(1e-12 < value < 1e12 for value in values):
            yield f"{name}: no ratio of two times"
    if not all(0 <= number < _MOST for number in _counts(run)):
        yield "no run has counted so much, or less than nothing"


def _counts(run: Summary) -> Iterator[float]:
    """Yield every number of a run that is added up."""
    told: list[Strict] = [*run.operators.values(), *run.verifiers.values(), *run.curve, run.limits, run]
    for each in told:
        for name, value in each:
            if isinstance(value, int | float) and name != "seed":
                yield value
    yield from run.stages.values()


def to_csv(runs: Sequence[Run]) -> str:
    """Return a CSV with a row for each agent, model and terms, and all columns of agents.comparison."""
    frame = comparison.aggregate(run.summary for run in runs)
    rows = [{str(name): _plain(value) for name, value in row.items()} for row in frame.to_dict("records")]
    rows.sort(key=lambda row: [str(row[name]) for name in (*comparison.TERMS, "agent", "agent_digest", "llm")])
    return cells_to_csv(rows, AGENT_COLUMNS)


def _plain(value: object) -> object:
    """Return `value`, but None for NaN, which pandas puts in empty cells, also in columns of whole numbers."""
    return None if isinstance(value, float) and math.isnan(value) else value


def to_markdown(runs: Sequence[Run]) -> str:
    """Return tables of agents under equal terms, and of the worth of their verifiers."""
    summaries = [run.summary for run in runs]
    verifiers = comparison.verifiers_to_markdown(summaries)
    return "\n".join(part for part in (comparison.to_markdown(comparison.aggregate(summaries)), verifiers) if part)
