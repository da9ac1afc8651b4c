"""Tables of a sweep: a row of figures for each run, and a page that compares the runs."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from robust_kbench.agents import comparison, published
from robust_kbench.agents.comparison import quoted
from robust_kbench.agents.summary import Interval, Summary
from robust_kbench.schema.documents import shown

RUNS, README = "runs.csv", "README.md"
_RATIOS = ("best_speedup", "final_speedup", "over_all", "over_start")
_PLAIN = (
    "task", "agent", "llm", "seed", "start", "budget", "device", "hardware", "tier", "kbench", "harness", "stop",
    "final_status", "best", "gap", "validity", "compile_rate", "parse_rate", "distinct_rate", "plan_rate",
    "repair_rate", "evaluations", "calls", "input_tokens", "output_tokens", "usd",
)  # fmt: skip
COLUMNS = (*_PLAIN, *(f"{name}{end}" for name in _RATIOS for end in ("", "_low", "_high")), "area")


def write(
    folder: Path, summaries: Sequence[Summary], failures: Sequence[tuple[str, str]], *, about: str, rules_only: bool
) -> list[Path]:
    """Write `runs.csv` and `README.md`, and return the paths.

    `failures` are runs without a result, each with the words of its error. `rules_only`: no language model took part.
    """
    files = {RUNS: to_csv(summaries), README: to_markdown(summaries, failures, about=about, rules_only=rules_only)}
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8", errors="replace")
    return [folder / name for name in files]


def to_csv(summaries: Sequence[Summary]) -> str:
    """Format a row for each run, sorted by task, agent, model and seed; empty where there is no value."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for run in sorted(summaries, key=lambda run: (run.task, run.agent, run.llm, run.seed)):
        writer.writerow({name: _cell(value) for name, value in _row(run).items()})
    return text.getvalue()


def _row(run: Summary) -> dict[str, Any]:
    row: dict[str, Any] = {name: getattr(run, name) for name in _PLAIN} | {
        "llm": ", ".join(run.llm),
        "area": run.area["evaluations"],
    }
    for name in _RATIOS:
        ratio: Interval | None = getattr(run, name)
        bounds = (None, None, None) if ratio is None else (ratio.value, ratio.low, ratio.high)
        row |= dict(zip((name, f"{name}_low", f"{name}_high"), bounds, strict=True))
    return row


def _cell(value: Any) -> Any:
    if isinstance(value, float):
        return f"{value:.6g}"
    return shown(value) if isinstance(value, str) else value


def to_markdown(
    summaries: Sequence[Summary], failures: Sequence[tuple[str, str]], *, about: str, rules_only: bool
) -> str:
    """Format the page that compares the runs."""
    return "\n".join(part for part in _parts(summaries, failures, about, rules_only) if part)


def _parts(
    summaries: Sequence[Summary], failures: Sequence[tuple[str, str]], about: str, rules_only: bool
) -> Iterator[str]:
    yield f"# Agents beside each other\n\n{about}\n"
    if rules_only:
        yield (
            "**No language model took part**: the answers come from rules that change constants of a kernel. That says "
            "what search alone can do, and nothing about which agent is better with a language model.\n"
        )
    yield (
        "Speedups are over eager PyTorch in the final judging, with 95 % intervals by bootstrap over tasks and seeds. "
        "`on the way`: the best speedup that a run had in the middle of its search, over what it was shown. `gap`: the "
        "search's speedup over the final one. `right` and `built` are shares of all candidates.\n"
    )
    yield comparison.to_markdown(comparison.aggregate(summaries))
    if best := _best_of_tasks(summaries):
        yield f"## The best of each task\n\n{best}"
    if verifiers := comparison.verifiers_to_markdown(summaries):
        yield f"## Verifiers\n\nThey rank, and decide nothing; what they liked least was not judged.\n\n{verifiers}"
    if lost := list(_not_counted(summaries, failures)):
        yield "## Not counted\n\n" + "\n".join(lost) + "\n"
    if differing := list(_deviations(summaries)):
        yield "## Where agents differ from what they follow\n\n" + "\n".join(differing) + "\n"
    if table := published.to_markdown({run.agent for run in summaries}):
        yield (
            "## As published\n\nFigures of papers: on other hardware, by other rules, with other models and starts. "
            f"They share no column with ours, and no figure of ours has to reach them.\n\n{table}"
        )


def _best_of_tasks(summaries: Sequence[Summary]) -> str:
    """Format a table with the best run of each task; empty without any.

    Of the runs that passed in the end, the best is the one whose interval over the start begins highest.
    """
    passed = [run for run in summaries if run.is_over and run.passed and run.over_start is not None]
    lines = []
    for task in sorted({run.task for run in passed}):
        mine = [(run.over_start.low, run) for run in passed if run.task == task and run.over_start]
        _, best = max(mine, key=lambda pair: (pair[0], pair[1].agent, pair[1].seed))
        cells = (
            quoted(task), quoted(best.agent), quoted(", ".join(best.llm)), str(best.seed), str(best.over_start),
            str(best.final_speedup), str(best.over_all or ""),
        )  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    head = (
        "| task | agent | model | seed | over the start | over eager | over the fastest baseline |",
        "|---|---|---|---:|---|---|---|",
    )
    return "\n".join([*head, *lines, ""]) if lines else ""


def _not_counted(summaries: Sequence[Summary], failures: Sequence[tuple[str, str]]) -> Iterator[str]:
    for run in summaries:
        if not run.is_over:
            name = f"{run.task}, {run.agent}, {', '.join(run.llm)}, seed {run.seed}"
            yield f"- {quoted(name)}: ended by {run.stop}, final judging {run.final_status}"
    for name, words in failures:
        yield f"- {quoted(name)}: {quoted(words[:300])}"


def _deviations(summaries: Sequence[Summary]) -> Iterator[str]:
    found = {(run.agent, each) for run in summaries for each in run.deviations}
    for agent, each in sorted(found):
        yield f"- {quoted(agent)}: {quoted(each)}"
