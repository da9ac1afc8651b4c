"""Evaluate many submissions, one after the other or several at once, with a progress bar on a terminal."""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from robust_kbench.cli.collect import Job
from robust_kbench.errors import SpecError, UsageError
from robust_kbench.evaluate import Evaluator
from robust_kbench.isolation.pool import WarmPool
from robust_kbench.progress import Progress as Listener
from robust_kbench.progress import silent
from robust_kbench.schema.case import Case
from robust_kbench.schema.documents import shown
from robust_kbench.schema.record import RunRecord, Tier


def run(
    jobs: Sequence[Job],
    device: str,
    tier: Tier,
    seed: int | None,
    case: int | Case | None,
    parallel: int,
    pool: WarmPool,
) -> Iterator[tuple[Job, RunRecord | str]]:
    """Each job with its record, or with the message of an error in its files, in order."""
    if parallel > 1 and len(jobs) > 1:
        pool.close()
        yield from _run_parallel(jobs, device, tier, seed, case, parallel)
        return
    with Evaluator(device, pool) as evaluator:
        for number, job in enumerate(jobs, start=1):
            with _bar(f"{number}/{len(jobs)} {shown(job.submission.name)}") as listener:
                result = _evaluate(evaluator, job, tier, seed, case, listener)
            yield job, result


def _evaluate(
    evaluator: Evaluator, job: Job, tier: Tier, seed: int | None, case: int | Case | None, listener: Listener
) -> RunRecord | str:
    try:
        return evaluator.evaluate(job.submission, tier=tier, seed=seed, case=case, progress=listener)
    except (SpecError, UsageError) as error:
        return f"{job.path}: {error}"


def _run_parallel(
    jobs: Sequence[Job], device: str, tier: Tier, seed: int | None, case: int | Case | None, parallel: int
) -> Iterator[tuple[Job, RunRecord | str]]:
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(parallel, mp_context=context, initializer=_open, initargs=(device,)) as executor:
        pending = [executor.submit(_evaluate_here, job, tier, seed, case) for job in jobs]
        for job, future in zip(jobs, pending, strict=True):
            yield job, future.result()


_evaluator: Evaluator | None = None


def _open(device: str) -> None:
    """One evaluator per process of the pool; its warm processes die with it."""
    global _evaluator
    _evaluator = Evaluator(device)


def _evaluate_here(job: Job, tier: Tier, seed: int | None, case: int | Case | None) -> RunRecord | str:
    assert _evaluator is not None
    return _evaluate(_evaluator, job, tier, seed, case, silent)


@contextmanager
def _bar(title: str) -> Iterator[Listener]:
    """A bar on stderr, if that is a terminal. It redraws only when told: a thread would disturb the clock."""
    if not sys.stderr.isatty():
        yield silent
        return
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=Console(stderr=True), auto_refresh=False, transient=True) as progress:
        line = progress.add_task(title, total=None)

        def listener(stage: str, done: int, total: int) -> None:
            progress.update(line, description=f"{title}  {stage}", completed=done, total=total, refresh=True)

        yield listener
