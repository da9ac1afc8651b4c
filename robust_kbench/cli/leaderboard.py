"""`kbench leaderboard`: make tables and pages of records, or unite several stores in one."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from robust_kbench.cli.groups import WithUsual
from robust_kbench.cli.places import file_to_write, folder_to_write

if TYPE_CHECKING:
    from robust_kbench.leaderboard.agents import Run
    from robust_kbench.leaderboard.reading import Problem

_RANK = "rank"
_MOST_PROBLEMS = 10


class _RankUnlessNamed(WithUsual):
    """Group in which `kbench leaderboard FILE` is `kbench leaderboard rank FILE`.

    A store called `merge` is `./merge`.
    """

    usual = _RANK


app = typer.Typer(
    cls=_RankUnlessNamed,
    help="Rank the records of stores; or merge stores.",
    subcommand_metavar="STORE... --out DIR | merge STORE... --into FILE",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
Stores = Annotated[list[Path], typer.Argument(help="Stores of records (.jsonl), or folders that hold some.")]


@app.command(_RANK)
def rank(
    stores: Stores,
    out: Annotated[
        Path, typer.Option("--out", "-o", callback=folder_to_write, help="Folder for tables and pages.")
    ] = Path("board"),
    sources: Annotated[
        list[Path] | None, typer.Option(metavar="DIR", help="Submissions whose sources may be shown.")
    ] = None,
    agents: Annotated[
        list[Path] | None, typer.Option(metavar="DIR", help="Runs of `kbench evolve` and `kbench sweep`.")
    ] = None,
    redteam: Annotated[
        Path | None, typer.Option(metavar="CSV", help="Of `kbench redteam --csv`: how attacks fared.")
    ] = None,
    trusted: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY|FILE", help="Rank only what is signed by one of these: see `kbench keygen`."),
    ] = None,
    pages: Annotated[bool, typer.Option("--pages/--no-pages", help="Whether to write pages beside the tables.")] = True,
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes. Default: one for each core.")] = None,
) -> None:
    """Rank the records of one or more stores.

    What cannot be read is told and left out. Exit code: 0, or 2 for a wrong request, such as no store at all.
    """
    from robust_kbench import signing
    from robust_kbench.cli.bars import bar
    from robust_kbench.leaderboard import confirmation, reading, summary, tables
    from robust_kbench.leaderboard.rows import rows

    keys = signing.public_keys(trusted or [])
    _check_that_they_exist([*(sources or []), *(agents or []), *([redteam] if redteam else [])])
    files = reading.stores(stores)
    loaded, confirmed = summary.summaries(files, jobs, with_bindings=pages), confirmation.load(files)
    gc.freeze()  # millions of objects stay to the end: no collection need look at them, the one at exit least of all
    runs, told = _runs(agents or [])
    loaded = replace(loaded, problems=[*loaded.problems, *confirmed.problems, *told])
    believed = confirmation.believed(confirmed.found, keys)
    found = rows(loaded.summaries, keys, believed)
    for path in tables.write_rows(found, loaded, out, runs=runs):
        typer.echo(f"wrote {path}")
    if pages:
        from robust_kbench.leaderboard.site import write_site

        with bar("pages") as progress:
            written = write_site(
                loaded, found, out,
                sources=_sources(sources or []), runs=runs, redteam=redteam, confirmations=believed,
                jobs=jobs, progress=progress,
            )  # fmt: skip
        typer.echo(f"wrote {out / 'index.html'} and {len(written) - 1} files that it leads to")
    _tell(loaded.problems)


def _check_that_they_exist(paths: Sequence[Path]) -> None:
    from robust_kbench.errors import UsageError

    for path in paths:
        if not path.exists():
            raise UsageError(f"{path}: No such file or directory")


def _runs(folders: Sequence[Path]) -> tuple[Sequence[Run], Sequence[Problem]]:
    """Return the runs of agents, and the problems met in reading them."""
    if not folders:
        return [], []
    from robust_kbench.leaderboard import agents  # takes longer to import than most boards to make

    found = agents.load(folders)
    return found.runs, found.problems


def _sources(folders: Sequence[Path]) -> dict[str, Path]:
    """Return the folders of submissions by digest, with the published kernels among them."""
    from robust_kbench.folders import data_folder
    from robust_kbench.leaderboard.site.sources import find

    return find([*folders, data_folder("baselines")])


def _tell(problems: Sequence[Problem]) -> None:
    for line in _in_lines(problems):
        typer.echo(line, err=True)


def _in_lines(problems: Sequence[Problem]) -> Iterator[str]:
    for problem in problems[:_MOST_PROBLEMS]:
        yield f"left out: {problem.where}: {problem.what}"
    if (more := len(problems) - _MOST_PROBLEMS) > 0:
        yield f"left out: {more} more"


@app.command()
def merge(
    stores: Stores,
    into: Annotated[Path, typer.Option(callback=file_to_write, help="The store to add to, made if there is none.")],
) -> None:
    """Unite stores in one, each record once, in order of time; again, and nothing changes.

    What cannot be read is told and left out. Confirmations beside the stores come along.
    """
    from robust_kbench.leaderboard import merging, reading
    from robust_kbench.schema.documents import shown

    merged = merging.merge(reading.stores(stores), into)
    told = f"records {merged.records}, new {merged.added}, duplicates left out {merged.duplicates}"
    typer.echo(shown(f"{into}: {told}; confirmations {merged.confirmations}"))
    _tell(merged.problems)
