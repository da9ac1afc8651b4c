"""Examine many tasks, in several processes."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import TypeVar

import torch

from robust_kbench.audit.examine import SEED, Examination, examine
from robust_kbench.registry import LoadedTask
from robust_kbench.schema.task import FloatDType
from robust_kbench.side_by_side import end_with_parent

Unit = tuple[LoadedTask, FloatDType]
Result = TypeVar("Result")


def examine_all(
    units: Sequence[Unit], jobs: int, *, seed: int = SEED, with_peers: bool = False, in_full: bool = True
) -> Iterator[Examination]:
    """Every task and dtype, in order."""
    calls = [(task, dtype, seed, with_peers, in_full) for task, dtype in units]
    return in_processes(_examine, calls, jobs)


def in_processes(function: Callable[..., Result], calls: Sequence[tuple[object, ...]], jobs: int) -> Generator[Result]:
    """Results of `function(*call)` in order, each call in one of `jobs` processes with one thread."""
    if jobs == 1 or len(calls) == 1:
        _one_thread()
        yield from (function(*call) for call in calls)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_prepare) as executor:
        pending = [executor.submit(function, *call) for call in calls]
        try:
            for future in pending:
                yield future.result()
        finally:
            executor.shutdown(cancel_futures=True)  # a pool that nobody waits for may end after the interpreter


def _examine(task: LoadedTask, dtype: FloatDType, seed: int, with_peers: bool, in_full: bool) -> Examination:
    return examine(task, dtype, seed=seed, with_peers=with_peers, in_full=in_full)


def _prepare() -> None:
    end_with_parent()
    _one_thread()


def _one_thread() -> None:
    torch.set_num_threads(1)
