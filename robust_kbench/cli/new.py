"""`kbench new`: scaffold a submission that passes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from robust_kbench.cli.places import folder_to_write


def new(
    task: Annotated[str, typer.Argument(help="Name of the task, such as norm/rmsnorm.")],
    folder: Annotated[Path, typer.Argument(callback=folder_to_write, help="New or empty directory to write into.")],
    language: Annotated[str, typer.Option("--language", "-l", help="python, triton, cpp or cuda.")] = "python",
) -> None:
    """Write a correct submission, to be made fast."""
    from robust_kbench.errors import UsageError
    from robust_kbench.registry import load_task
    from robust_kbench.scaffold import scaffold
    from robust_kbench.schema.submission import ABIS

    if language not in ABIS:
        raise UsageError(f"--language {language}: unknown; use {', '.join(ABIS)}")
    for path in scaffold(load_task(task), language, folder):
        typer.echo(f"wrote {path}")
    typer.echo(f"next: kbench evaluate {folder} --tier quick", err=True)
