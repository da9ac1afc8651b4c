"""Builds of submissions that begin before they are needed: while torch is imported, or another one is judged.

This module and its imports do without torch, so that a compiler can work while torch is imported.
"""

from __future__ import annotations

import os
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace

from robust_kbench.cases.contract import held_to
from robust_kbench.contestant import Contestant, build
from robust_kbench.devices import Device
from robust_kbench.errors import SpecError
from robust_kbench.isolation.pool import WarmPool
from robust_kbench.languages.compiler import Stop
from robust_kbench.registry import LoadedTask, task_of
from robust_kbench.schema.record import CANDIDATE
from robust_kbench.schema.submission import Submission
from robust_kbench.schema.task import FloatDType

_CORES_TO_SPARE = 8


class Building:
    """Submissions that are being built, one after the other."""

    def __init__(self, device: Device, pool: WarmPool) -> None:
        self.device = device
        self._pool = pool
        self._thread = ThreadPoolExecutor(1)
        self._stop = Stop()
        self._begun: list[tuple[Submission, Future[Contestant]]] = []

    def begin(self, submission: Submission) -> None:
        """Begin to build `submission` where that disturbs nothing."""
        if self.disturbs_nothing:
            self._begun.append((submission, self._thread.submit(self.build, submission)))

    @property
    def disturbs_nothing(self) -> bool:
        """Tell if builds may go on while a submission is judged.

        They may on a CUDA device, whose clock the host does not affect, if the host has cores to spare.
        """
        return self.device.kind == "cuda" and (os.cpu_count() or 1) >= _CORES_TO_SPARE

    def add(self, submission: Submission, built: Contestant) -> None:
        """Add a build of `submission` by another process, so that `take` finds it."""
        future: Future[Contestant] = Future()
        future.set_result(built)
        self._begun.append((submission, future))

    def take(self, submission: Submission) -> Future[Contestant] | None:
        """Remove and return the build of `submission` that has begun; None if none has."""
        begun = next((future for each, future in self._begun if each is submission), None)
        self._begun = [each for each in self._begun if each[0] is not submission]
        return begun

    def close(self) -> None:
        """End the builds under way, which are no longer needed, and begin no other."""
        self._stop.set()
        self._thread.shutdown(cancel_futures=True)

    def build(self, submission: Submission) -> Contestant:
        """Build `submission` now. Raises BuildError, Unsupported, and SpecError or UsageError for a wrong file."""
        task = task_of(submission.file.task)
        dtypes = declared_dtypes(submission, task)
        spec = under_its_contract(submission, task).spec
        return build(CANDIDATE, submission, spec, dtypes, self.device, self._pool.scratch(), self._stop)


def declared_dtypes(submission: Submission, task: LoadedTask) -> tuple[FloatDType, ...]:
    """Return the dtypes that a submission declares, by default all of its task. Raises SpecError for an unknown one."""
    declared = submission.file.dtypes or task.spec.dtypes
    for dtype in declared:
        if dtype not in task.spec.dtypes:
            known = ", ".join(task.spec.dtypes)
            raise SpecError(
                f"{submission.name}/submission.yaml: dtypes: {task.spec.name} has no {dtype}; it has {known}"
            )
    return declared


def under_its_contract(submission: Submission, task: LoadedTask) -> LoadedTask:
    """Return the task under the submission's own precision contract, which may be stricter. Raises SpecError."""
    try:
        return replace(task, spec=held_to(task.spec, submission.file.precision))
    except SpecError as error:
        raise SpecError(f"{submission.name}/submission.yaml: {error}") from None
