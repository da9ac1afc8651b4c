"""Work in processes of their own, which measure on cores of their own where there are enough."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.context import SpawnContext
from multiprocessing.queues import SimpleQueue
from tempfile import TemporaryDirectory
from typing import TypeVar

from robust_kbench import core_shares
from robust_kbench.agents.judging import end_with_parent
from robust_kbench.devices import open_device
from robust_kbench.devices.limits import known_limits

Item = TypeVar("Item")
Result = TypeVar("Result")
Shares = SimpleQueue[list[int]]


def each(
    work: Callable[[Item], Result], items: Sequence[Item], *, jobs: int, device: str
) -> Iterator[tuple[Item, Result | None]]:
    """What comes of each item, as it is ready; None where the process that was at it has been killed.

    On a processor with too few cores for all, and on a GPU, they take turns at measuring, see machine_lock. Whoever
    ends the iteration early, as Ctrl-C does, ends the processes: the pool would carry out all that is due first.
    """
    others = set(multiprocessing.active_children())
    context = multiprocessing.get_context("spawn")  # forked, torch's threads would hang
    with (
        TemporaryDirectory(prefix="kbench-") as folder,
        # Unlike those of multiprocessing.Pool, these processes may have children.
        ProcessPoolExecutor(
            jobs, context, initializer=_prepare, initargs=(_shares(context, jobs, device), folder)
        ) as processes,
    ):
        try:
            due = {processes.submit(work, item): item for item in items}
            for future in as_completed(due):
                try:
                    yield due[future], future.result()
                except BrokenProcessPool:
                    yield due[future], None
        except (KeyboardInterrupt, GeneratorExit):
            processes.shutdown(wait=False, cancel_futures=True)
            for process in set(multiprocessing.active_children()) - others:
                process.terminate()
            raise


def _shares(context: SpawnContext, jobs: int, device: str) -> Shares | None:
    cores = core_shares.shares_of(sorted(os.sched_getaffinity(0)), jobs)
    if device != "cpu" or min(map(len, cores)) < core_shares.FOR_TIMING:
        return None
    known_limits(open_device(device))  # nobody can measure them once the others are at work
    free: Shares = context.SimpleQueue()
    for share in cores:
        free.put(share)
    return free


def _prepare(free: Shares | None, folder: str) -> None:
    end_with_parent()
    if free is not None:
        core_shares.settle(free.get(), folder)
