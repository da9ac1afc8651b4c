"""Run every checked case of a submission in its worker and judge it; a crash costs a case, not the evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from robust_kbench.cases.values import Inputs, make_inputs
from robust_kbench.contestant import Contestant
from robust_kbench.devices import Device
from robust_kbench.errors import WorkerCrashed, WorkerTimedOut
from robust_kbench.isolation.arena import Arena
from robust_kbench.isolation.calls import Caller, case_footprint
from robust_kbench.isolation.pool import WarmPool
from robust_kbench.isolation.process import Worker
from robust_kbench.languages.triton import BFLOAT16_REASON
from robust_kbench.oracle.verdict import Judge, not_checked
from robust_kbench.progress import Progress
from robust_kbench.schema.case import Case
from robust_kbench.schema.observation import Observation
from robust_kbench.schema.record import CaseResult
from robust_kbench.schema.task import FloatDType, Task
from robust_kbench.stopwatch import Stopwatch

CASE_TIMEOUT_S = {"native": 10.0, "interpreted": 60.0, "emulated": 60.0}
_MAX_DEATHS = 2  # further cases would tell nothing new, and a hang costs its whole time limit


@dataclass
class Checked:
    """What checking has brought to light."""

    results: list[CaseResult] = field(default_factory=list)
    seen: list[Observation] = field(default_factory=list)
    layers: tuple[str, ...] = ()
    log: str = ""


def check(
    task: Task,
    contestant: Contestant,
    cases: Sequence[Case],
    *,
    judge: Judge,
    pool: WarmPool,
    device: Device,
    watch: Stopwatch,
    progress: Progress,
) -> Checked:
    """Judge `cases`, dtype by dtype, each in a worker of its own."""
    checked = Checked()
    arena = Arena(max(case_footprint(task, case) for case in cases) * 2)
    try:
        for dtype in dict.fromkeys(case.dtype for case in cases):
            mine = [case for case in cases if case.dtype == dtype]
            if dtype == "bfloat16" and contestant.execution == "interpreted":
                checked.results += [not_checked(case, BFLOAT16_REASON) for case in mine]
            else:
                _DtypeCheck(task, contestant, dtype, judge, pool, device, arena, watch).run(
                    mine, checked, progress, len(cases)
                )
    finally:
        arena.close()
    return checked


class _DtypeCheck:
    """The cases of one dtype, and the worker that is replaced when it dies."""

    def __init__(
        self,
        task: Task,
        contestant: Contestant,
        dtype: FloatDType,
        judge: Judge,
        pool: WarmPool,
        device: Device,
        arena: Arena,
        watch: Stopwatch,
    ) -> None:
        timeout_s = CASE_TIMEOUT_S[contestant.execution]
        self._caller = Caller(task, arena, device=device.kind, copy_out=device.copies_out, timeout_s=timeout_s)
        self._task, self._contestant, self._dtype, self._judge = task, contestant, dtype, judge
        self._pool, self._device, self._arena, self._watch = pool, device, arena, watch
        self._worker: Worker | None = None

    def run(self, cases: Sequence[Case], checked: Checked, progress: Progress, total: int) -> None:
        deaths = 0
        try:
            for case in cases:
                if deaths >= _MAX_DEATHS:
                    checked.results.append(not_checked(case, f"not run: the worker had died {deaths} times"))
                    continue
                result = self._one(case, checked)
                deaths += result.status in ("crashed", "timed_out") and self._worker is None
                progress("cases", len(checked.results), total)
        finally:
            self._drop()

    def _one(self, case: Case, checked: Checked) -> CaseResult:
        with self._watch.measure("references"):
            inputs = make_inputs(self._task, case)
        observation = self._observe(case, inputs, checked)
        self._watch.add("kernels", observation.elapsed_ns / 1e9)
        if observation.ending in ("crashed", "timed_out"):
            self._drop()
        with self._watch.measure("references"):
            result = self._judge.verdict(observation, inputs).result
        checked.seen.append(_without_outputs(observation))
        checked.results.append(result)
        checked.log = checked.log or observation.log
        return result

    def _observe(self, case: Case, inputs: Inputs, checked: Checked) -> Observation:
        try:
            if self._worker is None:
                self._worker = self._contestant.start(self._pool, self._arena, self._device, self._dtype)
                checked.layers = self._worker.layers
        except WorkerTimedOut as error:
            return Observation(case, "timed_out", f"{error} (import)", error.log)
        except WorkerCrashed as error:
            return Observation(case, "crashed", str(error), error.log)
        return self._caller.call(self._worker, self._contestant.abi, case, inputs)

    def _drop(self) -> None:
        if self._worker is not None:
            with suppress(OSError):
                self._worker.close()
            self._worker = None


def _without_outputs(observation: Observation) -> Observation:
    """Guards look at facts, not at values; a record of 120 cases must not hold 120 outputs in memory."""
    return replace(observation, outputs={})
