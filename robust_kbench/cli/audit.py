"""`kbench audit`: prove that tasks can tell right from wrong."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from robust_kbench.cli.bars import counting
from robust_kbench.errors import UsageError

if TYPE_CHECKING:
    from robust_kbench.agents.reviewing import Review
    from robust_kbench.audit.session import Unit


def audit(
    tasks: Annotated[list[str] | None, typer.Argument(help="Names of tasks, or their folders; default: all.")] = None,
    dtype: Annotated[str | None, typer.Option(help="Only this dtype.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Other cases than the usual ones.")] = None,
    variants: Annotated[bool, typer.Option("--variants", help="A line for each variant, tried on every case.")] = False,
    rules: Annotated[bool, typer.Option("--rules", help="Compare our rule with other benchmarks'; Markdown.")] = False,
    page: Annotated[bool, typer.Option("--page", help="The registry with what was killed; Markdown.")] = False,
    soak: Annotated[
        int, typer.Option(min=0, metavar="N", help="Judge honest variants N times on fresh seeds, and nothing else.")
    ] = 0,
    llm: Annotated[
        str | None,
        typer.Option(
            "--llm", metavar="PROVIDER:MODEL", help="Ask what does redundant or inefficient work; advice only."
        ),
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes.")] = min(2, os.cpu_count() or 1),
) -> None:
    """Admit tasks: every honest variant must pass, every wrong one and every non-answer must fail.

    Exit code: 0 all admitted (--rules: always; --soak: no false rejection), 1 some not, 2 a wrong request or file. What
    --llm says changes none of this.
    """
    if page and (rules or soak or dtype):
        raise UsageError("--page is a document of its own, about all dtypes; leave out --rules, --soak and --dtype")
    units = _units(tasks, dtype)
    if soak:
        if llm is not None:
            raise UsageError("--soak judges honest variants, and nothing else; leave out --llm, or --soak")
        sys.exit(_soak(units, soak, jobs, seed))
    reviews = None if llm is None else _reviews(units, llm)
    from robust_kbench.audit import report
    from robust_kbench.audit.comparison import comparison_table
    from robust_kbench.audit.examine import SEED
    from robust_kbench.audit.session import examine_all

    found = []
    with counting("audit", len(units)) as step:
        seed = SEED if seed is None else seed
        for examination in examine_all(units, jobs, seed=seed, with_peers=rules, in_full=rules or variants):
            found.append(examination)
            if not (rules or page):
                _print(report.line(examination))
                _print(report.table(examination) if variants else iter(()))
            step(1)
    if page:
        from robust_kbench.audit import registry_page

        _print(registry_page.page(found, {task.spec.name: task for task, _ in units}))
    else:
        _print(comparison_table(found) if rules else report.summary(found))
    if reviews is not None:
        _tell(*reviews, as_markdown=rules)
    sys.exit(int(not rules and not all(examination.is_admitted for examination in found)))


def _units(names: list[str] | None, dtype: str | None) -> list[Unit]:
    from robust_kbench.registry import load_task, task_names

    loaded = [load_task(name) for name in names or task_names()]
    units = [(task, known) for task in loaded for known in task.spec.dtypes if dtype in (None, known)]
    if not units:
        raise UsageError(f"--dtype {dtype}: none of the tasks has it")
    return units


def _reviews(units: list[Unit], llm: str) -> tuple[int, Iterator[Review]]:
    """Return the number of reviews, and an iterator that asks for each of them.

    An error in the request is found at once.
    """
    from robust_kbench.agents.providers.opening import open_provider
    from robust_kbench.agents.reviewing import review_all, subjects

    model, provider = open_provider(llm)
    loaded = {task.folder: task for task, _ in units}
    asked = [(task, subject) for task in loaded.values() for subject in subjects(task)]
    return len(asked), review_all(asked, provider, model)


def _tell(count: int, reviews: Iterator[Review], *, as_markdown: bool) -> None:
    from robust_kbench.agents import reviewing

    found = []
    with counting("review", count) as step:
        for review in reviews:
            found.append(review)
            if not as_markdown:
                typer.echo(reviewing.line(review))
            step(1)
    _print(reviewing.section(found) if as_markdown else reviewing.summary(found))


def _soak(units: list[Unit], count: int, jobs: int, seed: int | None) -> int:
    from robust_kbench.audit.soak import report, soak

    with counting("soak", count) as step:
        found = soak(units, count, jobs, seed, step)
    _print(report(found))
    return int(not found.is_clean)


def _print(lines: Iterator[str]) -> None:
    for line in lines:
        typer.echo(line)
