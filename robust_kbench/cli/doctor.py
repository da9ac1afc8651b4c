"""`kbench doctor`: tell what works on this machine, what is missing, and the command that fixes it."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from robust_kbench.doctor.diagnosis import Diagnosis

_COLOURS = {"ok": "green", "warn": "yellow", "missing": "red"}
_UNBOUNDED_WIDTH = 400  # a pipe has no width, and a command that is broken into lines cannot be pasted


def doctor(
    measure: Annotated[bool, typer.Option("--measure", help="Measure the ceilings, and keep them.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
) -> None:
    """Tell what works here, what is missing and how to fix it. Exit code: 0 kernels can be judged here, 1 not."""
    from robust_kbench.doctor import can_judge, examine

    if measure:
        typer.echo("measuring, as soon as no evaluation runs here: up to 20 s a device", err=True)
    found = list(examine(measure=measure))
    able = can_judge(found)
    if as_json:
        typer.echo(json.dumps({"can_judge": able, "diagnoses": [asdict(each) for each in found]}))
    else:
        _print(found)
        typer.secho(_verdict(found, able), fg="green" if able else "red", bold=True)
    sys.exit(0 if able else 1)


def _print(found: Sequence[Diagnosis]) -> None:
    from rich.console import Console

    console = Console(width=None if sys.stdout.isatty() else _UNBOUNDED_WIDTH, highlight=False)
    with console.capture() as captured:
        console.print(_table(found))
    for line in captured.get().splitlines():
        typer.echo(line.rstrip())


def _table(found: Sequence[Diagnosis]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    group = ""
    for each in found:
        if each.group != group:
            group = each.group
            table.add_row(Text(group, style="bold"))
        remedy = f"\n-> {_plain(each.remedy)}" if each.remedy else ""
        mark = Text(f"  {each.status}", style=_COLOURS[each.status])
        table.add_row(mark, Text(each.name), Text(_plain(each.found)).append(remedy, style="bold"))
    return table


def _plain(text: str) -> str:
    """Return words of other programs and environment variables, without characters that would steer a terminal."""
    return "".join(character if character.isprintable() else "?" for character in text)


def _verdict(found: Sequence[Diagnosis], able: bool) -> str:
    if not able:
        reasons = [each.name for each in found if each.is_required and each.status == "missing"]
        return f"kernels cannot be judged here: {', '.join(reasons)}"
    number = sum(each.status != "ok" for each in found)
    return f"kernels can be judged here; {number} remark{'s' * (number != 1)}"
