"""Run every checked case of a submission in its worker and judge it; a crash costs a case, not the evaluation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from robust_kbench import emulation
from robust_kbench.cases.values import Inputs, make_inputs
from robust_kbench.contestant import Contestant
from robust_kbench.devices import Device
from robust_kbench.emulation import Mode
from robust_kbench.errors import Unsupported, WorkerCrashed, WorkerTimedOut
from robust_kbench.isolation.arena import Arena
from robust_kbench.isolation.calls import Caller, case_footprint
from robust_kbench.isolation.pool import WarmPool
from robust_kbench.isolation.process import Worker
from robust_kbench.languages import cuda
from robust_kbench.languages.built import Built
from robust_kbench.languages.triton import BFLOAT16_REASON
from robust_kbench.oracle.verdict import Judge, not_checked
from robust_kbench.progress import Progress
from robust_kbench.schema.case import Case
from robust_kbench.schema.defect import UNSUPPORTED, WORK_LIMIT, Defect
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
    searches_defects: bool = False,
) -> Checked:
    """Judge `cases`, dtype by dtype, each in a worker of its own.

    `searches_defects` runs small cases of an emulated kernel under the checker as well; failing ones always are.
    Raises Unsupported when the kernel uses what the emulator cannot run.
    """
    checked = Checked()
    arena = Arena(max(case_footprint(task, case) for case in cases) * 2)
    try:
        for dtype in dict.fromkeys(case.dtype for case in cases):
            mine = [case for case in cases if case.dtype == dtype]
            if dtype == "bfloat16" and contestant.execution == "interpreted":
                checked.results += [not_checked(case, BFLOAT16_REASON) for case in mine]
            else:
                check = _DtypeCheck(task, contestant, dtype, judge, pool, device, arena, watch, searches_defects)
                check.run(mine, checked, progress, len(cases))
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
        searches_defects: bool,
    ) -> None:
        timeout_s = CASE_TIMEOUT_S[contestant.execution]
        self._caller = Caller(task, arena, device=device.kind, copy_out=device.copies_out, timeout_s=timeout_s)
        self._task, self._contestant, self._dtype, self._judge = task, contestant, dtype, judge
        self._pool, self._device, self._arena, self._watch = pool, device, arena, watch
        self._searches_defects = searches_defects
        self._workers: dict[Path, Worker] = {}
        self._layers: tuple[str, ...] = ()

    def run(self, cases: Sequence[Case], checked: Checked, progress: Progress, total: int) -> None:
        deaths = 0
        try:
            for case in cases:
                if deaths >= _MAX_DEATHS:
                    checked.results.append(not_checked(case, f"not run: the worker had died {deaths} times"))
                    continue
                result = self._one(case, checked)
                deaths += result.status in ("crashed", "timed_out") and not self._workers
                progress("cases", len(checked.results), total)
        finally:
            checked.layers = self._layers
            self._drop_all()

    def _one(self, case: Case, checked: Checked) -> CaseResult:
        with self._watch.measure("references"):
            inputs = make_inputs(self._task, case)
        results: list[CaseResult] = []
        seen: list[Observation] = []
        for built, mode in self._runs(case, results, seen):
            observation = self._observe(case, inputs, built, mode)
            self._watch.add("kernels", observation.elapsed_ns / 1e9)
            if observation.ending in ("crashed", "timed_out") or observation.defects:
                self._drop(built.path)
            with self._watch.measure("references"):
                results.append(self._judge.verdict(observation, inputs).result)
            seen.append(_without_outputs(observation))
            checked.log = checked.log or observation.log
        result = _with_defects(_worst(results), seen)
        checked.seen += seen
        checked.results.append(result)
        return result

    def _runs(
        self, case: Case, results: Sequence[CaseResult], seen: Sequence[Observation]
    ) -> Iterator[tuple[Built, Mode | None]]:
        """A native kernel runs once; an emulated one in several orders, until one of them goes wrong.

        It runs under the checker too if that was asked for, and wherever a bad result needs explaining.
        """
        built = self._contestant.built[self._dtype]
        if (instrument := self._contestant.instrument) is None:
            yield built, None
            return
        for mode in emulation.modes(case):
            yield built, mode
            if results[-1].status != "passed":
                break
        is_explained = any(observation.defects for observation in seen)
        is_small = emulation.is_small(case_footprint(self._task, case))
        if (results[-1].status != "passed" and not is_explained) or (self._searches_defects and is_small):
            yield instrument(self._dtype), emulation.under_checker(case)

    def _observe(self, case: Case, inputs: Inputs, built: Built, mode: Mode | None) -> Observation:
        try:
            if (worker := self._workers.get(built.path)) is None:
                worker = self._contestant.start(self._pool, self._arena, self._device, self._dtype, built)
                self._workers[built.path] = worker
        except WorkerTimedOut as error:
            return Observation(case, "timed_out", f"{error} (import)", error.log)
        except WorkerCrashed as error:
            return Observation(case, "crashed", str(error), error.log)
        self._layers = worker.layers
        observation = self._caller.call(worker, self._contestant.abi, case, inputs, emulation=mode)
        if not observation.reports:
            return observation
        defects = cuda.defects(observation.reports, built, self._contestant.submission)
        _raise_unsupported(defects)
        return replace(observation, defects=defects)

    def _drop(self, path: Path) -> None:
        if (worker := self._workers.pop(path, None)) is not None:
            with suppress(OSError):
                worker.close()

    def _drop_all(self) -> None:
        for path in list(self._workers):
            self._drop(path)


_SEVERITY = ("crashed", "timed_out", "incorrect", "not_checked", "passed")


def _worst(results: Sequence[CaseResult]) -> CaseResult:
    return min(results, key=lambda result: _SEVERITY.index(result.status))


def _with_defects(result: CaseResult, seen: Sequence[Observation]) -> CaseResult:
    """Undefined behaviour explains whatever came out, so that a wrong answer beside it is no verdict of its own."""
    defects = [defect for observation in seen for defect in observation.defects]
    if result.status == "passed":
        return result
    if (endless := next((defect for defect in defects if defect.kind == WORK_LIMIT), None)) is not None:
        return result.model_copy(update={"status": "timed_out", "reason": str(endless)[:1000]})
    undefined = next((defect for defect in defects if defect.is_undefined_behaviour), None)
    if undefined is None:
        return result
    reason = f"undefined behaviour: {undefined}; what came out was {result.status}"
    return result.model_copy(update={"status": "not_checked", "reason": reason[:1000]})


def _raise_unsupported(defects: Sequence[Defect]) -> None:
    for defect in defects:
        if defect.kind == UNSUPPORTED:
            at = f" at {defect.place}" if defect.place else ""
            raise Unsupported(f"{defect.message}{at} cannot be emulated; a CUDA device can run it")


def _without_outputs(observation: Observation) -> Observation:
    """Guards look at facts, not at values; a record of 120 cases must not hold 120 outputs in memory."""
    return replace(observation, outputs={})
