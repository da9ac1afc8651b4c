"""Progress of a long command: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from robust_kbench.progress import Progress as Listener
from robust_kbench.progress import silent

_LINE_EVERY_S = 60.0


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


@contextmanager
def counting(title: str, total: int) -> Iterator[Callable[[int], None]]:
    """A bar of `total` steps on stderr; where that is no terminal, a line a minute. Yields what counts steps."""
    if not sys.stderr.isatty():
        yield _Lines(title, total).step
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        line = progress.add_task(title, total=total)
        yield lambda steps: progress.update(line, advance=steps)


class _Lines:
    """A line on stderr whenever a step ends a minute or more after the last one."""

    def __init__(self, title: str, total: int) -> None:
        self._title, self._total = title, total
        self._done, self._said_at = 0, time.monotonic()

    def step(self, steps: int) -> None:
        """Count `steps` more."""
        self._done += steps
        if time.monotonic() - self._said_at >= _LINE_EVERY_S:
            self._said_at = time.monotonic()
            print(f"{self._title}: {self._done:,} of {self._total:,}", file=sys.stderr, flush=True)
