"""`kbench tasks`: what there is to compute."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from robust_kbench.catalogue import entries
from robust_kbench.errors import UsageError
from robust_kbench.folders import data_folder


def tasks(
    pattern: Annotated[str, typer.Argument(help="Part of a name, or a pattern such as 'norm/*'.")] = "*",
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per line.")] = False,
) -> None:
    """List the tasks of the registry."""
    found = entries(data_folder("tasks"), pattern)
    if not found:
        raise UsageError(f"no task matches {pattern!r}; `kbench tasks` lists all")
    width = max(len(entry.name) for entry in found)
    for entry in found:
        if as_json:
            typer.echo(json.dumps(entry._asdict()))
        else:
            typer.echo(f"{entry.name:{width}}  {entry.summary}  ({', '.join(entry.dtypes)})")
