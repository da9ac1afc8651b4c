"""Comparison of runs: a row for each agent and model, with 95 % intervals by bootstrap over tasks and seeds.

The bootstrap draws pairs of a task and a seed, as if runs of one task were independent. With few tasks, the intervals
are therefore too narrow for a statement about other tasks. Runs by another release, on another machine, at another
budget, from another kind of start or judged at another tier share neither a row nor a table. The order of the runs
means nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from robust_kbench.agents.summary import Confusion, Summary
from robust_kbench.schema.documents import shown

if TYPE_CHECKING:
    import pandas as pd

Row = dict[str, Any]
Measure = Callable[[Summary], float | None]
TERMS = ("hardware", "tier", "harness", "start", "budget")
"""Columns that have to be equal for a comparison."""
_WHO = ("agent", "agent_digest", "llm")
_RESAMPLES = 4000
_SEED = 0
_ENDS_CODE = str.maketrans({"`": "'", "|": "\N{BROKEN BAR}"})


def _final(run: Summary) -> float | None:
    return run.final_speedup.value if run.passed and run.final_speedup else None


def _over_start(run: Summary) -> float | None:
    return run.over_start.value if run.passed and run.over_start else None


def _is_fast(least: float) -> Measure:
    return lambda run: float((_final(run) or 0.0) >= least)


_SHARES: dict[str, Measure] = {
    "success": lambda run: float(run.passed),
    "fast_1": _is_fast(1.0),
    "fast_1.5": _is_fast(1.5),
    "fast_2": _is_fast(2.0),
    "fast_1_of_all": lambda run: float(run.passed and run.over_all is not None and run.over_all.value >= 1.0),
    "validity": lambda run: run.validity,
    "compile_rate": lambda run: run.compile_rate,
    "parse_rate": lambda run: run.parse_rate,
    "distinct_rate": lambda run: run.distinct_rate,
    "plan_rate": lambda run: run.plan_rate,
    "repair_rate": lambda run: run.repair_rate,
}
"""Measures averaged over runs. `fast_1_of_all`: as fast as the fastest baseline, torch.compile among them."""
_RATIOS: dict[str, Measure] = {
    "geomean": _final,
    "geomean_as_one": lambda run: _final(run) or 1.0,
    "over_start": _over_start,
    "over_start_as_one": lambda run: _over_start(run) or 1.0,
    "area": lambda run: run.area["evaluations"],
    "gap": lambda run: run.gap,
}
"""Measures averaged in logarithms. `as_one`: a run without a passing kernel changes nothing and counts as 1."""
_MEDIANS: dict[str, Measure] = {"median": _final, "median_as_one": lambda run: _final(run) or 1.0}
_COSTS: dict[str, Measure] = {
    "evaluations": lambda run: run.evaluations,
    "calls": lambda run: run.calls,
    "tokens": lambda run: run.input_tokens + run.output_tokens,
    "usd": lambda run: run.usd,
}
"""Measures averaged over runs; empty where one of the runs does not know its value."""


def aggregate(summaries: Iterable[Summary]) -> pd.DataFrame:
    """Return a row for each agent, model and terms; a cell is empty where its figure does not exist.

    Runs that did not end by their budget, or were not judged in the end, are counted as `not_counted` and nowhere else.
    """
    import pandas as pd

    known = list(summaries)
    machines = _machines(known)
    keyed = [((_who(run), _terms(run, machines)), run) for run in known]
    keyed.sort(key=lambda pair: (pair[0], pair[1].task, pair[1].seed, pair[1].model_dump_json()))
    groups = groupby(keyed, key=lambda pair: pair[0])
    return pd.DataFrame([_row(who, terms, [run for _, run in group]) for (who, terms), group in groups])


def _who(run: Summary) -> tuple[str, ...]:
    return (run.agent, run.agent_digest, ", ".join(run.llm))


def _promised(run: Summary) -> tuple[str, ...]:
    """Return the terms that a run has before it is judged in the end."""
    return (run.harness, run.start, run.budget, run.device)


def _machines(runs: Iterable[Summary]) -> dict[tuple[str, ...], set[tuple[str, str]]]:
    found: dict[tuple[str, ...], set[tuple[str, str]]] = {}
    for run in runs:
        if run.hardware:
            found.setdefault(_promised(run), set()).add((run.hardware, run.tier))
    return found


def _terms(run: Summary, machines: dict[tuple[str, ...], set[tuple[str, str]]]) -> tuple[str, ...]:
    """Return the terms of a run, for its place in a table.

    A run with nothing to judge in the end gets hardware and tier of the other runs of its terms, if these agree.
    """
    others = machines.get(_promised(run), set())
    hardware, tier = next(iter(others)) if not run.hardware and len(others) == 1 else (run.hardware, run.tier)
    return (hardware, tier, run.harness, run.start, run.budget)


def _row(who: Sequence[str], terms: Sequence[str], runs: Sequence[Summary]) -> Row:
    over = [run for run in runs if run.is_over]
    return {
        **dict(zip(_WHO, who, strict=True)),
        **dict(zip(TERMS, terms, strict=True)),
        "runs": len(over),
        "tasks": len({run.task for run in over}),
        "seeds": len({run.seed for run in over}),
        "not_counted": len(runs) - len(over),
        **_figures(over),
    }


def _figures(runs: Sequence[Summary]) -> Row:
    import numpy as np

    kinds: tuple[tuple[dict[str, Measure], Callable[[Any], Any]], ...] = (
        (_SHARES, lambda values: values.mean(axis=-1)),
        (_RATIOS, lambda values: np.exp(np.log(values).mean(axis=-1))),
        (_MEDIANS, lambda values: np.median(values, axis=-1)),
    )
    row: Row = {}
    for metrics, statistic in kinds:
        for name, of in metrics.items():
            row |= _with_interval(name, [value for run in runs if (value := of(run)) is not None], statistic)
    return row | {name: _mean([of(run) for run in runs]) for name, of in _COSTS.items()}


def _with_interval(name: str, values: Sequence[float], statistic: Callable[[Any], Any]) -> Row:
    """Return a figure and its 95 % interval by bootstrap, each None where it does not exist.

    Each resample draws as many values with replacement. A single value has no interval.
    """
    import numpy as np

    row: Row = {name: None, f"{name}_low": None, f"{name}_high": None}
    if values:
        known = np.asarray(values, dtype=float)
        row[name] = float(statistic(known))
        if len(known) > 1:
            drawn = np.random.default_rng(_SEED).integers(0, len(known), (_RESAMPLES, len(known)))
            low, high = np.percentile(statistic(known[drawn]), [2.5, 97.5])
            row |= {f"{name}_low": float(low), f"{name}_high": float(high)}
    return row


def mean_intervals(values: Sequence[Sequence[float]]) -> list[tuple[float, float]]:
    """Return the intervals of the mean over runs at each of some points, as `aggregate` gives them for one figure.

    `values` holds for each run its value at every point, for at least two runs.
    """
    import numpy as np

    known = np.asarray(values, dtype=float)
    drawn = np.random.default_rng(_SEED).integers(0, len(known), (_RESAMPLES, len(known)))
    times_drawn = np.zeros(drawn.shape)
    np.add.at(times_drawn, (np.arange(_RESAMPLES)[:, None], drawn), 1.0)
    low, high = np.percentile(times_drawn @ known / len(known), [2.5, 97.5], axis=0)
    return list(zip(low.tolist(), high.tolist(), strict=True))


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known and len(known) == len(values) else None


def to_markdown(frame: pd.DataFrame) -> str:
    """Format a table for each set of terms, with the agents in order of their names."""
    rows = [
        {str(name): None if isinstance(value, float) and math.isnan(value) else value for name, value in row.items()}
        for row in frame.to_dict("records")
    ]
    rows.sort(key=lambda row: (*(row[name] for name in (*TERMS, *_WHO)),))
    tables = [
        "\n".join([_heading(terms), "", *_HEAD, *map(_line, group), ""])
        for terms, group in groupby(rows, key=lambda row: tuple(row[name] for name in TERMS))
    ]
    return "\n".join(tables)


def _heading(terms: Sequence[str]) -> str:
    hardware, tier, harness, start, budget = terms
    where = f"on {quoted(hardware)}, judged in the end at tier {tier}" if hardware else "never judged in the end"
    return f"Budget {budget} each, from a {start}, {where}; harness {quoted(harness)}:"


_HEAD = (
    "| agent | model | runs | passed | fast_1 | fast_1.5 | fast_2 | median | geometric mean | failures as 1 "
    "| over the start | on the way | gap | right | built | tokens | usd |",
    "|---|---|---|---:|---:|---:|---:|---|---|---|---|---|---:|---|---|---:|---:|",
)


def _line(row: Row) -> str:
    broken = f"; {row['not_counted']} not counted" if row["not_counted"] else ""
    cells = (
        quoted(row["agent"]), quoted(row["llm"]), f"{row['runs']} ({row['tasks']} tasks, {row['seeds']} seeds){broken}",
        *(_percent(row, name) for name in ("success", "fast_1", "fast_1.5", "fast_2")),
        *(_times(row, name) for name in ("median", "geomean", "geomean_as_one", "over_start_as_one", "area")),
        _plain(row["gap"], ".2f"), _percent(row, "validity"), _percent(row, "compile_rate"),
        _plain(row["tokens"], ",.0f"), _plain(row["usd"], ".2f"),
    )  # fmt: skip
    return f"| {' | '.join(cells)} |"


def _plain(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def _percent(row: Row, name: str) -> str:
    value, low, high = (row[f"{name}{end}"] for end in ("", "_low", "_high"))
    if value is None:
        return ""
    return f"{value:.0%}" if low is None else f"{value:.0%} [{low:.0%}, {high:.0%}]"


def _times(row: Row, name: str) -> str:
    value, low, high = (row[f"{name}{end}"] for end in ("", "_low", "_high"))
    if value is None:
        return ""
    return f"{value:.2f}x" if low is None else f"{value:.2f}x [{low:.2f}, {high:.2f}]"


def verifiers_to_markdown(summaries: Iterable[Summary]) -> str:
    """Format a table of the verifiers of each agent and model, over all of its runs; empty without verifiers."""
    found: dict[tuple[str, str, str], Confusion] = {}
    for run in summaries:
        for role, confusion in run.verifiers.items():
            key = (run.agent, ", ".join(run.llm), role)
            found[key] = found.get(key, Confusion()) + confusion
    lines = [_verifier(*key, each) for key, each in sorted(found.items(), key=lambda item: item[0])]
    return "\n".join([*_VERIFIERS_HEAD, *lines, ""]) if lines else ""


_VERIFIERS_HEAD = (
    "| agent | model | verifier | right, said right | wrong, said right | wrong, said wrong | right, said wrong "
    "| said nothing | not judged | accuracy |",
    "|---|---|---|---:|---:|---:|---:|---:|---:|---:|",
)


def _verifier(agent: str, llm: str, role: str, each: Confusion) -> str:
    numbers = map(str, (each.tp, each.fp, each.tn, each.fn, each.silent, each.unjudged))
    return (
        f"| {quoted(agent)} | {quoted(llm)} | {quoted(role)} | {' | '.join(numbers)} | {_plain(each.accuracy, '.0%')} |"
    )


def quoted(text: str) -> str:
    """Return `text` as code, free of markup. Characters that would end the code, or a cell, are replaced."""
    code = shown(text).translate(_ENDS_CODE).strip()
    return f"`{code}`" if code else ""
