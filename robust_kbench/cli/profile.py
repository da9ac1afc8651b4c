"""`kbench profile`: what compilers, profilers and checkers say about a submission."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from robust_kbench.cli.evaluate import TASKS, DeviceChoice


def profile(
    path: Annotated[Path, typer.Argument(help="One submission: its directory, or a file.")],
    task: Annotated[str | None, typer.Option(help="Task of a submission that is a single file.")] = None,
    tasks: Annotated[list[Path] | None, TASKS] = None,
    device: Annotated[DeviceChoice, typer.Option(help="auto: cuda where there is one.")] = DeviceChoice.AUTO,
    dtype: Annotated[str | None, typer.Option(help="Only this dtype; default: run the first, compile all.")] = None,
    binding: Annotated[int, typer.Option(min=0, help="Number of the task's timed binding for the device.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
    sass: Annotated[bool, typer.Option("--sass", help="Print the machine code too.")] = False,
) -> None:
    """Explain a submission: compiler, machine code, profiler, counters, sanitizer. No verdict, no rank.

    Exit code: 0 reported, 1 it does not compile or a checker objects, 2 a wrong request or file.
    """
    import json

    from robust_kbench.cli.collect import trust_tasks_in
    from robust_kbench.errors import UsageError
    from robust_kbench.registry import find_submissions

    trust_tasks_in(tasks or [])
    found = find_submissions(path, task)
    if len(found) > 1:
        raise UsageError(f"{path}: {len(found)} submissions; name the directory of one")
    from robust_kbench.profiling.session import profile as run  # imports torch
    from robust_kbench.profiling.summary import lines

    profiled = run(found[0], device=device.value, dtype=dtype, binding=binding, keep_listing=sass)
    if as_json:
        typer.echo(json.dumps(profiled.as_json()))
    else:
        for line in lines(profiled):
            typer.echo(line)
    sys.exit(int(not profiled.is_clean))
