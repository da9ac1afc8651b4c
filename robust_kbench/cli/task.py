"""`kbench task NAME`: one task, as somebody who wants to write a kernel for it needs to know it."""

from __future__ import annotations

from typing import Annotated

import typer


def task(
    name: Annotated[str, typer.Argument(help="Name of the task, such as norm/rmsnorm, or its folder.")],
    device: Annotated[str, typer.Option(help="auto, cpu or cuda: whose roofline to show.")] = "auto",
) -> None:
    """Show a task's contract, an entry point for each language and ABI, and the roofline on this device."""
    from robust_kbench.cli import contract
    from robust_kbench.devices import open_device
    from robust_kbench.devices.limits import limits_of
    from robust_kbench.errors import SpecError
    from robust_kbench.registry import load_task

    loaded = load_task(name)
    chosen = open_device(device)
    try:
        peaks = limits_of(chosen).measured
    except SpecError as error:
        typer.echo(f"warning: {error}", err=True)
        peaks = None
    for line in contract.lines(loaded, chosen.kind, peaks):
        typer.echo(line)
