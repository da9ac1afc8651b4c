"""Work in processes of their own, which measure on a part of the machine of their own where there is enough of it."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.context import SpawnContext
from multiprocessing.queues import SimpleQueue
from tempfile import TemporaryDirectory
from typing import TypeVar

from robust_kbench import machine_shares
from robust_kbench.devices import Device, nvml
from robust_kbench.devices.limits import known_limits
from robust_kbench.machine_shares import Share

Item = TypeVar("Item")
Prepared = TypeVar("Prepared")
Result = TypeVar("Result")


def shares_of(device: Device, jobs: int) -> list[Share]:
    """Of the machine, for processes that measure at once: on a cpu cores, on GPUs one of them and cores.

    As many as `jobs`, or as there are GPUs. None where there is too little for two: then they have to take turns.
    """
    cores = sorted(os.sched_getaffinity(0))
    if device.kind == "cuda":
        shares = machine_shares.of_gpus(nvml.visible(), cores, jobs)
    else:
        shares = machine_shares.of_cores(cores, jobs)
    if len(shares) < 2 or not all(share.is_enough_for_timing for share in shares):
        return []
    known_limits(device)  # nobody can measure them once the others are at work
    return shares


def each(
    work: Callable[[Item], Result], items: Sequence[Item], *, jobs: int, shares: Sequence[Share] = ()
) -> Iterator[tuple[Item, Result | None]]:
    """What comes of each item, as it is ready; None where the process that was at it has been killed.

    With `shares` there is a process for each of them; without, `jobs` processes, which take turns at measuring, see
    machine_lock. Whoever ends the iteration early, as Ctrl-C does, ends the processes: the pool would carry out all
    that is due first.
    """
    yield from each_prepared(lambda item: item, work, items, jobs=jobs, shares=shares)


def _nothing() -> None:
    pass


def each_prepared(
    prepare: Callable[[Item], Prepared],
    work: Callable[[Prepared], Result],
    items: Sequence[Item],
    *,
    jobs: int,
    shares: Sequence[Share] = (),
    begin: Callable[[], None] = _nothing,
) -> Iterator[tuple[Item, Result | None]]:
    """The same, of what `prepare` makes of an item in this process.

    It does so in a thread, while the processes work, for one item ahead of each of them. Each process calls `begin`
    before anything else.
    """
    count = len(shares) or jobs
    others = set(multiprocessing.active_children())
    context = multiprocessing.get_context("spawn")  # forked, torch's threads would hang
    with (
        TemporaryDirectory(prefix="kbench-") as folder,
        # Unlike those of multiprocessing.Pool, these processes may have children.
        ProcessPoolExecutor(
            count, context, initializer=_prepare, initargs=(_queue(context, shares), folder, begin)
        ) as processes,
    ):

        def carry_out(item: Item) -> Result:
            return processes.submit(work, prepare(item)).result()

        threads = ThreadPoolExecutor(2 * count)  # as many wait for their process as prepare what comes next
        try:
            due = {threads.submit(carry_out, item): item for item in items}
            for future in as_completed(due):
                try:
                    yield due[future], future.result()
                except BrokenProcessPool:
                    yield due[future], None
        except (KeyboardInterrupt, GeneratorExit):
            threads.shutdown(wait=False, cancel_futures=True)
            processes.shutdown(wait=False, cancel_futures=True)
            for process in set(multiprocessing.active_children()) - others:
                process.terminate()
            raise


def end_with_parent() -> None:
    """A pool of processes does not notice that whoever started it was killed, and would wait for work for ever."""
    threading.Thread(target=_wait_for_parent, daemon=True).start()


def _wait_for_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _queue(context: SpawnContext, shares: Sequence[Share]) -> SimpleQueue[Share] | None:
    if not shares:
        return None
    free: SimpleQueue[Share] = context.SimpleQueue()
    for share in shares:
        free.put(share)
    return free


def _prepare(free: SimpleQueue[Share] | None, folder: str, begin: Callable[[], None]) -> None:
    end_with_parent()
    if free is not None:
        machine_shares.settle(free.get(), folder)
    begin()
