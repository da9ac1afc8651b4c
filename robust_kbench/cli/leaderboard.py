"""`kbench leaderboard`: records to CSV and Markdown."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def leaderboard(
    stores: Annotated[list[Path], typer.Argument(help="Stores of records (.jsonl), or folders that hold some.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for leaderboard.csv and README.md.")] = Path(),
) -> None:
    """Rank the records of one or more stores."""
    from robust_kbench import store
    from robust_kbench.errors import UsageError
    from robust_kbench.leaderboard.tables import write

    files = [path for entry in stores for path in (sorted(entry.rglob("*.jsonl")) if entry.is_dir() else [entry])]
    if not files:
        raise UsageError(f"{', '.join(map(str, stores))}: no store (*.jsonl) found")
    records = sorted((record for path in files for record in store.read(path)), key=lambda record: record.started_at)
    for path in write(records, out):
        typer.echo(f"wrote {path}")
