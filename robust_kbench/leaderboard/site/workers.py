"""Rendering of pages in a few processes. Each takes some orders at a time, and compiles the templates once.

A page that cannot be rendered, for instance because of a record of a stranger, is reported and left out. The others go
on.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from pathlib import Path
from typing import TypeVar

from robust_kbench.errors import HarnessError
from robust_kbench.progress import Progress
from robust_kbench.schema.documents import shown

Order = TypeVar("Order")
Written = tuple[list[Path], list[str]]
"""Paths of the written pages, and messages about failures."""
_AT_ONCE = 25
_WORTH_A_PROCESS = 100


def carry_out(
    write: Callable[[Order], list[Path]],
    name: Callable[[Order], str],
    orders: Sequence[Order],
    *,
    stage: str,
    jobs: int | None,
    progress: Progress,
) -> Written:
    """Carry out all orders in any number of processes; the result is in their order.

    `name`: returns the subject of a page.
    """
    chunks = [orders[start : start + _AT_ONCE] for start in range(0, len(orders), _AT_ONCE)]
    work = partial(_some, write, name)
    paths: list[Path] = []
    failures: list[str] = []
    for done, (found, told) in enumerate(_each(work, chunks, _processes(jobs, len(orders))), start=1):
        paths += found
        failures += told
        progress(stage, min(done * _AT_ONCE, len(orders)), len(orders))
    return paths, failures


def _processes(jobs: int | None, orders: int) -> int:
    usual = len(os.sched_getaffinity(0)) if jobs is None else jobs
    return max(1, min(usual, orders // _WORTH_A_PROCESS))


def _each(
    work: Callable[[Sequence[Order]], Written], chunks: Sequence[Sequence[Order]], processes: int
) -> Iterator[Written]:
    if processes == 1:
        yield from map(work, chunks)
        return
    # Spawned: who calls may have threads, and a fork of those may hang.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        try:
            yield from pool.map(work, chunks)
        except BrokenProcessPool:
            raise HarnessError(
                "a process that wrote pages was killed, perhaps for want of memory; try fewer --jobs"
            ) from None
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _some(write: Callable[[Order], list[Path]], name: Callable[[Order], str], orders: Sequence[Order]) -> Written:
    paths: list[Path] = []
    failures: list[str] = []
    for order in orders:
        try:
            paths += write(order)
        except Exception as error:  # one hostile record must not cost ten thousand pages
            failures.append(shown(f"{name(order)}: no page: {type(error).__name__}: {error}")[:300])
    return paths, failures
