"""Evaluate many submissions, one after the other or several at once, with a progress bar on a terminal.

Only processes that judge import torch. The process that hands submissions to them does not wait for that.
"""

from __future__ import annotations

import atexit
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, suppress
from functools import partial
from typing import TYPE_CHECKING

from robust_kbench import machine_lock, side_by_side
from robust_kbench.building import Building
from robust_kbench.cli import interrupts
from robust_kbench.cli.bars import bar
from robust_kbench.cli.collect import Job
from robust_kbench.contestant import Contestant
from robust_kbench.devices import Device, nvml, open_device
from robust_kbench.errors import KBenchError, SpecError, UsageError
from robust_kbench.isolation.pool import WarmPool, flavour_of
from robust_kbench.progress import Progress as Listener
from robust_kbench.progress import silent
from robust_kbench.schema.case import Case
from robust_kbench.schema.documents import shown
from robust_kbench.schema.record import RunRecord, Tier
from robust_kbench.schema.submission import Language
from robust_kbench.schema.task import DeviceKind

if TYPE_CHECKING:
    from robust_kbench.evaluate import Evaluator


def run(
    jobs: Sequence[Job],
    device: str,
    tier: Tier,
    seed: int | None,
    case: int | Case | None,
    parallel: int,
    pool: WarmPool,
    building: Building | None = None,
) -> Generator[tuple[Job, RunRecord | str], None, None]:
    """Yield each job with its record, or with the message of an error in its files, as they are ready.

    `building` has begun to build the first submission. Where one of several processes is killed, a record says so.
    """
    if parallel > 1 and len(jobs) > 1:
        if building is not None:
            building.close()
        pool.close()
        yield from _run_parallel(jobs, device, tier, seed, case, parallel)
        return
    with interrupts.heeded():
        from robust_kbench.evaluate import Evaluator

    with Evaluator(device, pool, building) as evaluator:
        for number, job in enumerate(jobs, start=1):
            with bar(f"{number}/{len(jobs)} {shown(job.submission.name)}") as listener:
                if tier == "quick" and number < len(jobs):  # others' work on the host costs a rank, which quick has not
                    evaluator.building.begin(jobs[number].submission)
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
    """Judge on GPUs of their own where there are several.

    Processes that share a processor share its memory, and take turns.
    """
    opened = open_device(device)
    shares = side_by_side.shares_of(opened, parallel) if opened.kind == "cuda" else []
    work = partial(_evaluate_here, device=opened.kind, tier=tier, seed=seed, case=case)
    with (
        bar(f"{len(shares) or parallel} at once") as listener,
        closing(WarmPool()) as pool,
        closing(Building(opened, pool)) as building,
    ):
        # Others' work on the host costs a rank, which quick has not; and what is built is for the first GPU.
        is_ahead = tier == "quick" and len({nvml.architecture_of(share.gpu) for share in shares if share.gpu}) == 1
        prepare = partial(_built_ahead, building=building if is_ahead else None)
        begin = partial(_begin, jobs[0].submission.file.language, opened.kind)
        each = side_by_side.each_prepared(prepare, work, jobs, jobs=parallel, shares=shares, begin=begin)
        with closing(each) as ended:
            for number, (job, result) in enumerate(ended, start=1):
                listener("evaluated", number, len(jobs))
                yield job, result if result is not None else _killed(job, opened, pool, tier, seed, case)


def _killed(
    job: Job, device: Device, pool: WarmPool, tier: Tier, seed: int | None, case: int | Case | None
) -> RunRecord | str:
    """Return the record of a submission whose judge was killed, or the message of an error in its files."""
    with machine_lock.busy():  # importing torch would be felt by who measures
        from robust_kbench.evaluate import killed

        try:
            return killed(job.submission, device, pool, tier=tier, seed=seed, case=case)
        except (SpecError, UsageError) as error:
            return f"{job.path}: {error}"


_POOLS: list[WarmPool] = []
_EVALUATORS: list[Evaluator] = []
"""Evaluator of a process that evaluates beside others, one at most."""

_Order = tuple[Job, Contestant | None]
"""Job with the contestant that has been built of it; None where nothing has been built."""


def _begin(language: Language, device: DeviceKind) -> None:
    """Warm up a process that will be needed, while this one imports torch."""
    with suppress(KBenchError), machine_lock.busy():  # the first evaluation meets the same error
        pool = WarmPool()
        pool.warm_up(flavour_of(language, device), gpu=device == "cuda")
        _POOLS.append(pool)


def _built_ahead(job: Job, building: Building | None) -> _Order:
    if building is None or not building.disturbs_nothing:
        return job, None
    try:
        return job, building.build(job.submission)
    except Exception:
        return job, None  # the process that judges it meets the same error, and reports it


def _evaluate_here(
    order: _Order, *, device: str, tier: Tier, seed: int | None, case: int | Case | None
) -> RunRecord | str:
    if not _EVALUATORS:
        from robust_kbench.evaluate import Evaluator

        _EVALUATORS.append(Evaluator(device, _POOLS.pop() if _POOLS else None))
        atexit.register(_EVALUATORS[0].close)
    job, built = order
    if built is not None:
        _EVALUATORS[0].building.add(job.submission, built)
    return _evaluate(_EVALUATORS[0], job, tier, seed, case, silent)
