"""Evaluate many submissions, one after the other or several at once, with a progress bar on a terminal."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor

from robust_kbench.cli.bars import bar
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
            with bar(f"{number}/{len(jobs)} {shown(job.submission.name)}") as listener:
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
