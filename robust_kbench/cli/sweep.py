"""`kbench sweep`: agents beside each other, at equal budgets."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from robust_kbench.cli.places import folder_to_write

if TYPE_CHECKING:
    from robust_kbench.agents.evolution import Observe
    from robust_kbench.agents.summary import Summary
    from robust_kbench.agents.sweep import Run


def sweep(
    file: Annotated[str, typer.Argument(help="What to run: a YAML file, or `demonstration`.")],
    out: Annotated[
        Path,
        typer.Option("--out", "-o", callback=folder_to_write, help="Folder of the runs; what is finished in it stays."),
    ],
    agents: Annotated[list[str] | None, typer.Option(help="Only these of the file: names, joined by commas.")] = None,
    tasks: Annotated[list[str] | None, typer.Option(help="Only these of the file.")] = None,
    seeds: Annotated[list[str] | None, typer.Option(help="Only these of the file.")] = None,
    evaluations: Annotated[int | None, typer.Option(min=1, help="Of each run, instead of the file's.")] = None,
    jobs: Annotated[
        int,
        typer.Option("--jobs", "-j", min=1, help="Runs side by side; with less than two cores each, they take turns."),
    ] = 1,
) -> None:
    """Run every agent on every task with every model and seed, and compare them.

    The same command goes on where a sweep was ended. Exit code: 0 all runs came to an end, 1 some failed, 2 a wrong
    request or file.
    """
    from robust_kbench.agents import comparison
    from robust_kbench.agents import sweep as sweeps
    from robust_kbench.agents.tables import README, RUNS

    asked = sweeps.narrowed(
        sweeps.read(file),
        agents=_words(agents),
        tasks=_words(tasks),
        seeds=_numbers(seeds),
        evaluations=evaluations,
    )
    teller = _Teller(len(sweeps.runs(asked)))
    swept = sweeps.carry_out(
        asked, out, jobs=jobs, begun=teller.begun, searched=teller.searched, judged=teller.judged, ended=teller.ended
    )  # fmt: skip
    typer.echo(comparison.to_markdown(comparison.aggregate(swept.summaries)))
    for name in (RUNS, README):
        typer.echo(f"wrote {out / name}")
    sys.exit(int(bool(swept.failures) or not all(run.is_over for run in swept.summaries)))


class _Teller:
    """Says on stderr which run is going on, and what came of each."""

    def __init__(self, count: int) -> None:
        self._count, self._searched, self._ended = count, 0, 0
        self._bar = ExitStack()

    def begun(self, run: Run) -> Observe:
        """A bar for its search."""
        from robust_kbench.cli.evolve import live

        return self._bar.enter_context(live(f"{self._searched + 1}/{self._count}  {run}", run.agent.limits))

    def searched(self, run: Run, what: Summary | str) -> None:
        """A line for it."""
        self._bar.close()
        self._searched += 1
        words = _found(what) if not isinstance(what, str) else f"failed: {what}"
        self._tell(f"searched {self._searched}/{self._count}", run, words)

    def judged(self, run: Run, name: str, number: int, count: int) -> None:
        """A line for each kernel that is judged in the end, for all runs that share it."""
        self._tell(f"judged {number}/{count}", run, f"its {name}")

    def ended(self, run: Run, what: Summary | str) -> None:
        """A line for what its best kernel came to in the end."""
        self._ended += 1
        self._tell(f"ended {self._ended}/{self._count}", run, _in_words(what))

    def _tell(self, when: str, run: Run, words: str) -> None:
        from robust_kbench.schema.documents import shown

        typer.echo(shown(f"{when}  {run}: {words}"), err=True)


def _found(what: Summary) -> str:
    if what.stop != "budget":
        return f"ended by {what.stop}"
    return f"{what.best_speedup} eager on public cases" if what.best_speedup else "no kernel was right"


def _in_words(what: Summary | str) -> str:
    if isinstance(what, str):
        return f"failed: {what}"
    if not what.is_over:
        return f"ended by {what.stop}, final judging {what.final_status}; not counted"
    if what.over_start is not None:
        return f"{what.final_status}, {what.over_start} the start"
    return f"{what.final_status}, {what.final_speedup} eager" if what.final_speedup else what.final_status


def _words(values: list[str] | None) -> list[str]:
    return [word.strip() for value in values or [] for word in value.split(",") if word.strip()]


def _numbers(values: list[str] | None) -> list[int]:
    from robust_kbench.errors import UsageError

    words = _words(values)
    for word in words:
        if not (word.isascii() and word.isdigit() and len(word) < 20):
            raise UsageError(f"--seeds: {word!r:.40} is no number")
    return [int(word) for word in words]
