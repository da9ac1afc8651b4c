"""`kbench import`: other suites' problems as tasks, and their kernels as submissions."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from robust_kbench.cli.places import folder_to_write

if TYPE_CHECKING:
    from collections.abc import Iterator

    from robust_kbench.importers.description import Form, Found, Unread


class Format(StrEnum):
    """Values of FORMAT."""

    KERNELBENCH = "kernelbench"
    ROBUST_KBENCH = "robust-kbench"
    FLASHINFER = "flashinfer"
    SOL_EXECBENCH = "sol-execbench"


def import_(
    form: Annotated[
        Format, typer.Argument(metavar="FORMAT", help="kernelbench, robust-kbench, flashinfer or sol-execbench.")
    ],
    source: Annotated[Path, typer.Argument(metavar="SRC", help="A file, a folder or a checkout.")],
    into: Annotated[
        Path,
        typer.Option("--into", metavar="DIR", callback=folder_to_write, help="Write here, outside of the registry."),
    ],
    only: Annotated[str, typer.Option(metavar="REGEX", help="Only paths in which this is found.")] = "",
    task: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Only kernels, for this imported task.")] = None,
    audit: Annotated[bool, typer.Option(help="Audit what is imported.")] = True,
    seconds: Annotated[int, typer.Option(min=5, help="At most, for each survey and for each audit.")] = 300,
    jobs: Annotated[int, typer.Option(min=1, help="Problems at once.")] = 1,
) -> None:
    """Import problems of other suites as tasks, which are audited, and their kernels as submissions.

    Foreign code runs in a sandbox. What was imported and audited before stays as it is.
    Exit code: 0 all imported and admitted, 1 some not, 2 a wrong request or file.
    """
    from robust_kbench.cli.bars import bar
    from robust_kbench.errors import UsageError

    _check(source, only)
    from robust_kbench.importers import importing, submissions

    outcomes = []
    unread: list[Unread] = []
    if task is None:
        problems, unread = _find(form, source, only)
        outcomes += [importing.Outcome(each.place, "", error=each.error) for each in unread]
        for outcome in outcomes:
            _print(importing.report(outcome))
        with bar("importing") as listener:
            for outcome in importing.import_all(
                problems, into, seconds=seconds, with_audit=audit, jobs=jobs, progress=listener
            ):
                outcomes.append(outcome)
                _print(importing.report(outcome))
    told = {each.place for each in unread}
    written = submissions.import_submissions(_form(form), source, into, task, only)
    kernels = [each for each in written if each.folder or each.place not in told]
    if not outcomes and not kernels:
        raise UsageError(f"{source}: neither a problem nor a kernel of {form.value} here")
    _print(submissions.told(kernels))
    if outcomes:
        _print(importing.summary(outcomes))
    sys.exit(int(not all(each.is_admitted for each in outcomes) or not all(each.folder for each in kernels)))


def _check(source: Path, only: str) -> None:
    import re

    from robust_kbench.errors import UsageError

    if not source.exists():
        raise UsageError(f"{source}: no such file or directory")
    try:
        re.compile(only)
    except re.error as error:
        raise UsageError(f"--only {only}: {error}") from None


def _print(lines: Iterator[str]) -> None:
    from robust_kbench.schema.documents import shown

    for line in lines:
        typer.echo(shown(line))


def _form(form: Format) -> Form:
    forms: dict[Format, Form] = {Format.KERNELBENCH: "kernelbench", Format.ROBUST_KBENCH: "robust-kbench"}
    return forms.get(form, "flashinfer")


def _find(form: Format, source: Path, only: str) -> tuple[list[Found], list[Unread]]:
    """And what cannot be read among other files; where it is all that was asked for, that is a wrong request."""
    from robust_kbench.errors import SpecError
    from robust_kbench.importers import flashinfer, kernelbench, task_folders

    finders = {Format.KERNELBENCH: kernelbench.find, Format.ROBUST_KBENCH: task_folders.find}
    unread: list[Unread] = []
    if form in finders:
        return finders[form](source, only, unread if source.is_dir() else None), unread
    found = flashinfer.find(source, only, unread)  # a definition has lines in other files, which cost it nothing
    if unread and not found and not source.is_dir():
        raise SpecError(f"{unread[0].place}: {unread[0].error}")
    return found, unread
