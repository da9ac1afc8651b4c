"""Work in several processes, each of which measures on its own part of the machine where that is large enough."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from queue import LifoQueue
from tempfile import TemporaryDirectory
from typing import TypeVar

from robust_kbench import machine_shares
from robust_kbench.devices import Device, nvml
from robust_kbench.devices.limits import known_limits
from robust_kbench.machine_shares import Share

Item = TypeVar("Item")
Prepared = TypeVar("Prepared")
Result = TypeVar("Result")
_TERMINATED_S = 5.0


def shares_of(device: Device, jobs: int) -> list[Share]:
    """Return shares of the machine for processes that measure at once: cores, and on GPUs also one GPU each.

    There are as many as `jobs`, or fewer where GPUs or cores are fewer. The list is empty where there is too little for
    two: then they take turns.
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
    """Yield each item with its result, as it is ready; None where the process that was at it has been killed.

    With `shares` there is a process for each of them. Without, `jobs` processes take turns at measuring, see
    machine_lock. Another process takes the place of one that was killed. Ending the iteration early, as Ctrl-C does,
    ends the processes, which would otherwise carry out all that is due first.
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
) -> Generator[tuple[Item, Result | None], None, None]:
    """Do as `each` with the result of `prepare`, which this process computes for each item.

    `prepare` runs in a thread, while the processes work, for one item ahead of each of them. Each process calls `begin`
    before anything else. A caller that ends the iteration early has to end what `prepare` waits for, too.
    """
    others = set(multiprocessing.active_children())
    with TemporaryDirectory(prefix="kbench-", ignore_cleanup_errors=True) as folder:
        processes = [_Process(share, folder, begin) for share in shares or (None,) * jobs]
        free: LifoQueue[_Process] = LifoQueue()  # one that has worked before has imported torch
        for process in reversed(processes):
            free.put(process)

        def carry_out(item: Item) -> Result | None:
            prepared = prepare(item)
            process = free.get()
            try:
                return process.carry_out(work, prepared)
            finally:
                free.put(process)

        threads = ThreadPoolExecutor(2 * len(processes))  # as many wait for their process as prepare what comes next
        try:
            due = {threads.submit(carry_out, item): item for item in items}
            for future in as_completed(due):
                yield due[future], future.result()
        except BaseException:
            threads.shutdown(wait=False, cancel_futures=True)
            for process in processes:
                process.end()
            for child in set(multiprocessing.active_children()) - others:
                child.terminate()
                child.join(_TERMINATED_S)
            raise
        for process in processes:
            process.close()


class _Process:
    """Process that is replaced by another one on the same share when it is killed."""

    def __init__(self, share: Share | None, folder: str, begin: Callable[[], None]) -> None:
        self._initial = (share, folder, begin)
        self._lock = threading.Lock()
        self._is_over = False
        self._pool = self._open()

    def _open(self) -> ProcessPoolExecutor:
        """Open a pool of one process, which starts when something is to be done.

        Unlike the processes of multiprocessing.Pool it may have children.
        """
        context = multiprocessing.get_context("spawn")  # forked, torch's threads would hang
        return ProcessPoolExecutor(1, context, initializer=_prepare, initargs=self._initial)

    def carry_out(self, work: Callable[[Prepared], Result], prepared: Prepared) -> Result | None:
        """Carry out `work` in the process; None if that is killed meanwhile."""
        try:
            return self._pool.submit(work, prepared).result()
        except BrokenProcessPool:
            with self._lock:
                if not self._is_over:
                    self._pool.shutdown(wait=False)
                    self._pool = self._open()
            return None

    def end(self) -> None:
        """Begin no more work in this process."""
        with self._lock:
            self._is_over = True
            self._pool.shutdown(wait=False, cancel_futures=True)

    def close(self) -> None:
        """Wait until the process has ended."""
        self._pool.shutdown()


def end_with_parent() -> None:
    """End this process when its parent does.

    A process of a pool does not notice that its parent was killed, and would wait for work for ever.
    """
    threading.Thread(target=_wait_for_parent, daemon=True).start()


def _wait_for_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _prepare(share: Share | None, folder: str, begin: Callable[[], None]) -> None:
    end_with_parent()
    if share is not None:
        machine_shares.settle(share, folder)
    begin()
