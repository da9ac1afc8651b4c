"""The bar that a long command draws on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from robust_kbench.progress import Progress as Listener
from robust_kbench.progress import silent


@contextmanager
def bar(title: str) -> Iterator[Listener]:
    """A bar on stderr, if that is a terminal. It redraws only when told: a thread would disturb the clock."""
    if not sys.stderr.isatty():
        yield silent
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=Console(stderr=True), auto_refresh=False, transient=True) as progress:
        line = progress.add_task(title, total=None)

        def listener(stage: str, done: int, total: int) -> None:
            progress.update(line, description=f"{title}  {stage}", completed=done, total=total, refresh=True)

        yield listener
