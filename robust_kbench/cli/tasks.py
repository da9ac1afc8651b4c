"""`kbench tasks`: what there is to compute."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Annotated

import typer

from robust_kbench.catalogue import Entry, entries
from robust_kbench.errors import UsageError
from robust_kbench.folders import data_folder


def tasks(
    pattern: Annotated[str, typer.Argument(help="Part of a name, or a pattern such as 'norm/*'.")] = "*",
    family: Annotated[str | None, typer.Option(help="Only this family: the part of the name before the op.")] = None,
    dtype: Annotated[str | None, typer.Option(help="Only tasks that have this dtype.")] = None,
    tag: Annotated[str | None, typer.Option(help="Only tasks with this tag, such as backward, or a suite's.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per line.")] = False,
) -> None:
    """List the tasks of the registry; `kbench task NAME` shows one."""
    known = entries(data_folder("tasks"))
    _check("family", family, (entry.family for entry in known))
    _check("dtype", dtype, (each for entry in known for each in entry.dtypes))
    _check("tag", tag, (each for entry in known for each in entry.tags))
    found = [
        entry
        for entry in known
        if entry.is_called(pattern)
        and family in (None, entry.family)
        and dtype in (None, *entry.dtypes)
        and tag in (None, *entry.tags)
    ]
    if not found:
        raise UsageError(f"no task matches {_asked(pattern, family, dtype, tag)}; `kbench tasks` lists all")
    width = max(len(entry.name) for entry in found)
    for entry in found:
        typer.echo(json.dumps(entry._asdict()) if as_json else _line(entry, width))


def _line(entry: Entry, width: int) -> str:
    return f"{entry.name:{width}}  {entry.summary}  ({', '.join(entry.dtypes)})"


def _check(option: str, wanted: str | None, known: Iterable[str]) -> None:
    choices = sorted(set(known))
    if wanted is not None and wanted not in choices:
        raise UsageError(f"--{option} {wanted}: no task has it; use {', '.join(choices)}")


def _asked(pattern: str, *others: str | None) -> str:
    return ", ".join([repr(pattern), *(each for each in others if each)])
