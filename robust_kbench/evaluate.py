"""Pipeline of an evaluation: build, check, time, guard, record.

The command line, pytest, agents and clusters all enter here.
"""

from __future__ import annotations

import contextlib
import datetime
import secrets
import threading
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Literal, Self

import torch

from robust_kbench import freed_memory, guards, machine_lock
from robust_kbench.baselines import baselines_for
from robust_kbench.building import Building, declared_dtypes, under_its_contract
from robust_kbench.cases.large import large_case
from robust_kbench.cases.more_draws import cases_of_more_draws
from robust_kbench.cases.space import Budget, Space
from robust_kbench.cases.suite import BUDGETS, INTERPRETED, draw_suite
from robust_kbench.checking import CASE_TIMEOUT_S, Checker
from robust_kbench.checking.knock_out import knock_out
from robust_kbench.checking.results import position_in, status_of, worst_of_each
from robust_kbench.contestant import Contestant, build
from robust_kbench.devices import Device, machine, open_device, shares
from robust_kbench.devices.limits import Limits, known_limits, measured_again
from robust_kbench.errors import BuildError, HarnessError, KBenchError, SpecError, Unsupported, UsageError
from robust_kbench.guards import floor
from robust_kbench.isolation.pool import WarmPool, flavour_of
from robust_kbench.labels import labels_of
from robust_kbench.oracle.judgement import RULE
from robust_kbench.oracle.reference import Reference, precision_facts
from robust_kbench.oracle.verdict import Judge, not_checked
from robust_kbench.progress import Progress, silent
from robust_kbench.registry import LoadedTask, task_of
from robust_kbench.schema.case import Case, Suite
from robust_kbench.schema.documents import printable
from robust_kbench.schema.finding import Finding
from robust_kbench.schema.observation import Observation
from robust_kbench.schema.record import (
    CANDIDATE,
    CONTROL,
    EAGER,
    CaseResult,
    RunRecord,
    Search,
    Status,
    Tier,
    Timing,
    decode_samples,
)
from robust_kbench.schema.submission import Submission
from robust_kbench.schema.task import DeviceKind, FloatDType
from robust_kbench.stopwatch import Stopwatch
from robust_kbench.timing.calibration import CLOCK_ERROR_NS
from robust_kbench.timing.floor import task_floor
from robust_kbench.timing.measure import Measured, measure, schedule_spots
from robust_kbench.timing.opening import Opening
from robust_kbench.timing.plan import plan_for
from robust_kbench.timing.spot_checks import Schedule

_SEED_BITS = 53


@dataclass
class _Outcome:
    """Outcome so far. It starts as a failure, and only the last stage can turn it into a pass."""

    status: Status = Status.HARNESS_ERROR
    reason: str = "the evaluation ended early"
    log: str = ""
    findings: list[Finding] = field(default_factory=list)
    cases: list[CaseResult] = field(default_factory=list)
    search: Search | None = None
    timings: list[Timing] = field(default_factory=list)
    layers: tuple[str, ...] = ()
    execution: Any = "native"
    clock: Literal["judge", "gate", "wall", "none"] = "none"
    is_timed: bool = False


class Evaluator:
    """Judge of submissions on one device. It keeps the processes that are expensive to start.

    Use it as a context manager.
    """

    def __init__(
        self, device: DeviceKind | str = "auto", pool: WarmPool | None = None, building: Building | None = None
    ) -> None:
        """Open the device and prepare this process for judging.

        `pool`: a pool that has been warming up already. `building`: builds in that pool that have begun. `close` closes
        both. Sets the number of torch's threads in this process: one, or several where a device does the timed work.
        Has the process keep the memory that it frees, see freed_memory.
        """
        self.device: Device = building.device if building else open_device(device)
        self._pool = pool or WarmPool()
        self.building = building or Building(self.device, self._pool)
        torch.set_num_threads(self.device.judging_threads)
        freed_memory.keep()
        if self.device.kind == "cuda":  # a second, in which submissions are built
            threading.Thread(target=_open_gate, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End every process and delete every temporary folder."""
        self.building.close()
        self._pool.close()

    def evaluate(
        self,
        submission: Submission,
        task: LoadedTask | None = None,
        *,
        tier: Tier = "full",
        seed: int | None = None,
        case: int | Case | None = None,
        progress: Progress = silent,
    ) -> RunRecord:
        """Judge one frozen submission and return its record.

        `seed` replays the cases of an earlier record. `case` selects the case of that index; a `Case` is run as it is.
        Anything that the submission does becomes a status. Raises SpecError and UsageError for requests that make no
        sense.
        """
        watch = Stopwatch()
        loaded = task or task_of(submission.file.task)
        if submission.file.task != loaded.spec.name:
            raise UsageError(f"{submission.name} is a submission to {submission.file.task}, not to {loaded.spec.name}")
        dtypes = declared_dtypes(submission, loaded)
        loaded = under_its_contract(submission, loaded)
        built = self.building.take(submission)
        built = built if task is None else None  # what is begun ahead is built for the task that it names
        run = _Run(submission, loaded, dtypes, tier, seed, case, self._pool, self.device, watch, progress, built)
        return run.record()


def _open_gate() -> None:
    from robust_kbench.isolation.gate import open_gate  # needs a driver

    with contextlib.suppress(Exception):  # whoever needs it meets the same obstacle, and says so
        open_gate()


def killed(
    submission: Submission, device: Device, pool: WarmPool, *, tier: Tier, seed: int | None, case: int | Case | None
) -> RunRecord:
    """Write the record of a submission whose judge was killed in a process of its own, before any result.

    Its seed is not the judge's, if the judge has drawn one. Raises SpecError and UsageError as an evaluation does.
    """
    task = task_of(submission.file.task)
    dtypes = declared_dtypes(submission, task)
    task = under_its_contract(submission, task)
    run = _Run(submission, task, dtypes, tier, seed, case, pool, device, Stopwatch(), silent, None)
    return run.abandoned("the process that judged it was killed; is the machine out of memory?")


class _Run:
    """Evaluation of one submission, from the build to the record."""

    def __init__(
        self,
        submission: Submission,
        task: LoadedTask,
        dtypes: tuple[FloatDType, ...],
        tier: Tier,
        seed: int | None,
        case: int | Case | None,
        pool: WarmPool,
        device: Device,
        watch: Stopwatch,
        progress: Progress,
        built: Future[Contestant] | None,
    ) -> None:
        self._built = built
        self._submission, self._task, self._dtypes, self._tier = submission, task, dtypes, tier
        self._is_replay = seed is not None or isinstance(case, Case)
        # Drawn now, when the submission is frozen and its digest is fixed.
        self._seed = secrets.randbits(_SEED_BITS) if seed is None else seed
        self._only_case = case
        self._pool, self._device, self._watch, self._progress = pool, device, watch, progress
        self._judge = Judge(task.spec, Reference(task), device.judging_place)
        self._started_at = datetime.datetime.now(datetime.UTC)
        self._outcome = _Outcome()
        self._seen: list[Observation] = []
        self._spots: Schedule | None = None
        self._opening: Opening | None = None
        self._candidate_built: Contestant | None = None

    def record(self) -> RunRecord:
        """Run all stages and write down how they ended."""
        try:
            self._judge_submission()
        except (SpecError, UsageError):
            raise
        except BuildError as error:
            self._end(Status.BUILD_FAILED, str(error), error.log)
            self._judge_what_was_seen()
        except Unsupported as error:
            self._end(Status.UNSUPPORTED, str(error))
            self._judge_what_was_seen()
        except Exception as error:
            detail = "" if isinstance(error, KBenchError) else traceback.format_exc()
            self._end(Status.HARNESS_ERROR, f"{type(error).__name__}: {error}", detail)
            with contextlib.suppress(Exception):
                self._judge_what_was_seen()
        finally:
            if self._candidate_built is not None:
                self._candidate_built.discard()
        if self._outcome.status in (Status.CRASHED, Status.TIMED_OUT, Status.HARNESS_ERROR):
            self._blame_a_lost_device()
        return self._write_down()

    def _blame_a_lost_device(self) -> None:
        """Blame a device that is gone: every call on it fails, whatever the submission does."""
        if words := self._device.loss():
            self._end(Status.HARNESS_ERROR, f"{HarnessError.__name__}: {words}", self._outcome.log)

    def abandoned(self, reason: str) -> RunRecord:
        """Write the record of an evaluation that did not reach its end, by no fault of the submission."""
        self._end(Status.HARNESS_ERROR, f"{HarnessError.__name__}: {reason}")
        return self._write_down()

    def _judge_what_was_seen(self) -> None:
        """Let wrong answers and objections of guards stand, although something later ended the evaluation."""
        searched = self._outcome.search.minimal if self._outcome.search else None
        cases = [*self._outcome.cases, *([searched] if searched else [])]
        if self._judge.pooled_problem or any(case.status not in ("passed", "not_checked") for case in cases):
            self._end(*self._judged())
        self._guard()

    def _judge_submission(self) -> None:
        with self._watch.measure("build"), machine_lock.busy():
            gpu = self._device.kind == "cuda"
            self._pool.warm_up(flavour_of(self._submission.file.language, self._device.kind), gpu=gpu)
            if self._tier != "quick" and self._only_case is None:
                self._pool.warm_up("inductor", gpu=gpu)  # takes seconds, and is not needed before the timing
            candidate = self._candidate()
        self._outcome.execution = candidate.execution
        suite = self._draw(candidate)
        is_timed = self._only_case is None and candidate.execution == "native"
        with ExitStack() as stack:
            contestants: list[Contestant] = []
            if is_timed and self._device.kind == "cuda":
                with machine_lock.busy():
                    contestants = self._contestants(candidate)
                    self._opening = self._open_ahead(contestants, suite)
                stack.callback(self._opening.close)
                self._spots = schedule_spots(self._task.spec, contestants, suite.timed, self._tier, self._device)
            self._check(candidate, suite)
            if self._outcome.status is Status.PASSED and is_timed:
                self._time(suite, contestants or self._contestants(candidate))
        self._guard()

    def _open_ahead(self, contestants: Sequence[Contestant], suite: Suite) -> Opening:
        """Begin to open the workers that the timing will use."""
        # Not at tier final, which needs the device's memory for a large case before that.
        turns = 0 if self._tier == "final" else plan_for(self._tier, self._device.kind).sessions
        is_beside_many = self._submission.file.language == "triton"
        return Opening(
            self._task.spec, contestants, suite.timed, self._pool, self._device, turns_ahead=turns,
            share=shares.OPENING_BESIDE_MANY if is_beside_many else shares.OPENING_BESIDE_FEW,
        )  # fmt: skip

    def _candidate(self) -> Contestant:
        if self._built is not None:
            found = self._built.result()
        else:
            scratch = self._pool.scratch()
            found = build(CANDIDATE, self._submission, self._task.spec, self._dtypes, self._device, scratch)
        self._candidate_built = found
        return found

    def _draw(self, candidate: Contestant) -> Suite:
        suite = draw_suite(
            self._task.spec, self._seed,
            budget=self._budget(candidate), dtypes=self._dtypes, device=self._device.kind, dense=candidate.abi == "c",
            pinned=self._task.pinned,
        )  # fmt: skip
        if self._only_case is None:
            return suite
        if isinstance(self._only_case, Case):
            only = self._possible(self._only_case)
        elif 0 <= self._only_case < len(suite.checked):
            only = suite.checked[self._only_case]
        else:
            known = f"seed {self._seed} has the cases 0 to {len(suite.checked) - 1}"
            raise UsageError(f"--case {self._only_case}: {known}")
        return Suite(seed=suite.seed, checked=(only,), timed=())

    def _budget(self, candidate: Contestant) -> Budget:
        return (BUDGETS if candidate.execution == "native" else INTERPRETED)[self._tier]

    def _possible(self, case: Case) -> Case:
        """Return `case` if it is one of the task's and of the submission's. Raises UsageError otherwise."""
        if case.dtype not in self._dtypes:
            raise UsageError(f"--case: dtype {case.dtype}: the submission declares {', '.join(self._dtypes)}")
        if problem := self._task.spec.misfit(case.axes):
            raise UsageError(f"--case: {problem}")
        return case

    def _check(self, candidate: Contestant, suite: Suite) -> None:
        with self._watch.measure("check"), machine_lock.busy():
            try:
                with self._checker(candidate) as checker:
                    try:
                        self._check_in_full(candidate, suite, checker)
                    finally:
                        self._outcome.layers = checker.layers
                        self._seen += checker.checked.seen
                        if self._device.kind == "cuda":  # workers of the timing need the memory
                            torch.cuda.empty_cache()
                self._end(*self._judged(), checker.checked.log)
            finally:
                if self._opening is not None and self._outcome.status is not Status.PASSED:
                    self._opening.close()  # as long as nobody else measures

    def _check_in_full(self, candidate: Contestant, suite: Suite, checker: Checker) -> None:
        is_searched = self._only_case is None and self._device.starts_at_once > 1
        checker.expect(suite.checked)
        ahead: Future[Search | None] | None = None
        try:
            with ThreadPoolExecutor(2) as beside:
                # In a thread of its own where all is judged side by side: most of it is waiting for the worker.
                ahead = beside.submit(self._search_ahead, candidate, checker) if is_searched else None
                if self._spots is not None and self._submission.file.language == "triton":
                    beside.submit(checker.compile_ahead, self._to_compile(suite))
                try:
                    checker.check(suite.checked, self._progress)
                finally:
                    self._outcome.cases = sorted(checker.checked.results, key=position_in(suite))
        except Exception:
            if ahead is not None and ahead.exception() is None:  # an error of ours does not undo what it has found
                self._outcome.search = ahead.result()
            raise
        if self._only_case is not None:
            self._use_otherwise(candidate, checker, suite)
        else:
            is_right = all(case.status == "passed" for case in self._outcome.cases)
            self._outcome.search = ahead.result() if ahead and is_right else self._search(candidate, checker)
            self._use_otherwise(candidate, checker, suite)
            self._draw_more(candidate, checker)
            self._check_large(candidate, checker)
            self._knock_out(candidate, suite)

    def _knock_out(self, candidate: Contestant, suite: Suite) -> None:
        """Run the custom track's own test on a submission that has passed every other one."""
        if self._submission.file.track != "custom" or self._judged()[0] is not Status.PASSED:
            return
        judged = {each.dtype for each in self._outcome.cases if each.status == "passed"}
        finding = knock_out(
            self._task.spec, candidate, [case for case in suite.checked if case.dtype in judged],
            judge=self._judge, pool=self._pool, device=self._device, watch=self._watch,
            timeout_s=CASE_TIMEOUT_S[candidate.execution],
        )  # fmt: skip
        self._outcome.findings += [finding] if finding else []

    def _checker(self, candidate: Contestant) -> Checker:
        return Checker(
            self._task.spec, candidate,
            judge=self._judge, pool=self._pool, device=self._device, watch=self._watch, tier=self._tier,
            **({"make_room": self._opening.give_up} if self._opening else {}),
        )  # fmt: skip

    def _to_compile(self, suite: Suite) -> list[Case]:
        """Return cases of all shapes that sessions will have."""
        assert self._spots is not None
        sessions = plan_for(self._tier, self._device.kind).sessions
        return [*suite.timed, *self._spots.other_shapes(sessions)]

    def _search(self, candidate: Contestant, checker: Checker) -> Search | None:
        """Search beyond the drawn cases, or from those that failed to a smaller one."""
        cases = self._outcome.cases
        failed = [case for case in cases if case.status not in ("passed", "not_checked")]
        if not failed and any(case.status != "passed" for case in cases):
            return None  # undefined behaviour, or a dtype that cannot be judged here: nothing to add
        return self._searched(candidate, checker.judge, failed, self._progress)

    def _search_ahead(self, candidate: Contestant, checker: Checker) -> Search | None:
        """Search beyond the drawn cases while these are judged. The result counts if all of them pass."""

        def judge(case: Case) -> CaseResult:
            if any(result.status != "passed" for result in list(checker.checked.results)):
                return not_checked(case, "not run: a drawn case has failed")
            return checker.judge_beside(case)

        return self._searched(candidate, judge, [], silent, at_once=checker.lanes)

    def _searched(
        self,
        candidate: Contestant,
        judge: Callable[[Case], CaseResult],
        failed: Sequence[CaseResult],
        progress: Progress,
        at_once: int = 1,
    ) -> Search | None:
        from robust_kbench.search import effort, search  # hypothesis takes a while to import

        space = Space(self._task.spec, self._budget(candidate), self._dtypes, candidate.abi == "c")
        chosen = effort(self._tier, candidate.execution)
        return search(space, self._seed, judge, effort=chosen, failed=failed, progress=progress, at_once=at_once)

    def _use_otherwise(self, candidate: Contestant, checker: Checker, suite: Suite) -> None:
        """Call a kernel as real code does, if it is right so far. Interpreted and emulated kernels are too slow."""
        changes_inputs = any(seen.changed_inputs for seen in checker.checked.seen)
        if candidate.execution == "native" and self._judged()[0] is Status.PASSED and not changes_inputs:
            count = len(checker.checked.results)
            self._outcome.findings += checker.use_otherwise(suite.checked, self._seed)
            self._outcome.cases += checker.checked.results[count:]

    def _draw_more(self, candidate: Contestant, checker: Checker) -> None:
        """Draw until the law of random classes shows, if the kernel is right so far. Interpreted ones are too slow."""
        cases = cases_of_more_draws(self._task.spec, self._dtypes, self._seed)
        if cases and candidate.execution == "native" and self._judged()[0] is Status.PASSED:
            count = len(checker.checked.results)
            checker.draw_more(cases, self._tier)
            self._outcome.cases += checker.checked.results[count:]

    def _check_large(self, candidate: Contestant, checker: Checker) -> None:
        """Check a large case, if the kernel is right so far. Tier final alone has the time for it."""
        case = large_case(self._task.spec, self._dtypes, self._seed)
        is_due = self._tier == "final" and candidate.execution == "native"
        if case is not None and is_due and self._judged()[0] is Status.PASSED:
            checker.check_large(case)
            self._outcome.cases.append(checker.checked.results[-1])

    def _judged(self) -> tuple[Status, str]:
        """Sum up the drawn cases, the search, and the problem that all of their calls show together."""
        searched = self._outcome.search.minimal if self._outcome.search else None
        status, reason = status_of([*self._outcome.cases, *([searched] if searched else [])], self._dtypes)
        if status in (Status.PASSED, Status.UNSUPPORTED) and self._judge.pooled_problem:
            return Status.INCORRECT, self._judge.pooled_problem
        return status, reason

    def _contestants(self, candidate: Contestant) -> list[Contestant]:
        with self._watch.measure("timing"):
            baselines = [self._build_baseline(each) for each in baselines_for(self._task, self._tier)]
            return [candidate, *baselines, *self._control(baselines)]

    def _time(self, suite: Suite, contestants: Sequence[Contestant]) -> None:
        measured = Measured()
        try:
            with self._watch.measure("timing"):
                measure(
                    self._task.spec, contestants, suite.timed, self._tier,
                    judge=self._judge, pool=self._pool, device=self._device, watch=self._watch, progress=self._progress,
                    opening=self._opening, measured=measured,
                    spots=self._spots,
                )  # fmt: skip
        finally:
            self._seen += measured.seen
        self._outcome.is_timed = True
        self._outcome.clock = "wall" if "wall" in measured.clocks else next(iter(measured.clocks), "none")
        self._hold_to_the_floor(measured.timings)
        self._outcome.findings += measured.findings
        self._outcome.cases += worst_of_each(measured.results)
        if measured.failure:
            self._end(*self._judged())
            if self._outcome.status is Status.PASSED:
                self._end(Status.INCORRECT, measured.failure)

    def _hold_to_the_floor(self, timings: Sequence[Timing]) -> None:
        """Set the floor of each timing, the least time of its work here. A shorter time is a finding.

        Limits that lead to a finding are measured again first, where that is possible.
        """
        held = [self._held_to_the_floor(timing, known_limits(self._device)) for timing in timings]
        if any(findings for _, findings in held) and (limits := measured_again(self._device)) is not None:
            held = [self._held_to_the_floor(timing, limits) for timing in timings]
        self._outcome.timings = [timing for timing, _ in held]
        self._outcome.findings += [finding for _, findings in held for finding in findings]

    def _held_to_the_floor(self, timing: Timing, limits: Limits) -> tuple[Timing, list[Finding]]:
        """Return `timing` with its floor, and the findings about its times."""
        bound, measured = (
            task_floor(self._task.spec, timing.axes, timing.dtype, peaks) for peaks in (limits.bound, limits.measured)
        )
        times_ns = [ns for session in timing.sessions for ns in decode_samples(session.samples[CANDIDATE])]
        axes = " ".join(f"{name}={size}" for name, size in timing.axes.items())
        least = measured or bound
        told = timing.model_copy(update={"floor_us": round(least.ns / 1e3, 3) if least else None})
        error_ns = CLOCK_ERROR_NS if self._outcome.clock in ("gate", "wall") else 0
        return told, list(floor.inspect_times(f"{axes} {timing.dtype}", times_ns, bound, measured, error_ns))

    def _control(self, baselines: Sequence[Contestant]) -> list[Contestant]:
        """Return a second eager PyTorch, which shows how far equals differ. Tier quick ranks nothing and has none."""
        eager = next(baseline for baseline in baselines if baseline.name == EAGER)
        return [] if self._tier == "quick" else [replace(eager, name=CONTROL)]

    def _build_baseline(self, baseline: Submission) -> Contestant:
        try:
            return build(baseline.name, baseline, self._task.spec, self._dtypes, self._device, self._pool.scratch())
        except (BuildError, Unsupported) as error:  # source of ours: not the submission's failure
            raise HarnessError(f"baseline {baseline.name} of {self._task.spec.name}: {error}") from None

    def _guard(self) -> None:
        # What was done comes before what it looked like, such as an impossible time.
        self._outcome.findings = [*guards.inspect(self._seen), *self._outcome.findings]
        objection = next((finding for finding in self._outcome.findings if finding.severity == "reject"), None)
        # Where undefined behaviour spoilt the cases, none may be left that was checked.
        if objection and self._outcome.status in (Status.PASSED, Status.UNSUPPORTED, Status.HARNESS_ERROR):
            self._end(Status.REJECTED, f"{objection.guard}: {objection.message}")

    def _end(self, status: Status, reason: str, log: str = "") -> None:
        self._outcome.status, self._outcome.reason = status, reason
        self._outcome.log = log or self._outcome.log

    def _write_down(self) -> RunRecord:
        spec, file, outcome = self._task.spec, self._submission.file, self._outcome
        return RunRecord(
            task=spec.name,
            task_version=spec.version,
            task_digest=self._task.digest,
            submission=printable(self._submission.name),
            submission_digest=self._submission.digest,
            author=printable(file.author),
            language=file.language,
            abi=self._submission.abi,
            track=file.track,
            precision=spec.precision,
            dtypes=self._dtypes,
            device=self._device.kind,
            execution=outcome.execution,
            tier=self._tier,
            seed=self._seed,
            replay=self._is_replay,
            status=outcome.status,
            reason=printable(outcome.reason)[:4000],
            log=printable(outcome.log)[-4000:],
            findings=tuple(outcome.findings),
            labels=labels_of(self._submission),
            cases=tuple(outcome.cases),
            search=outcome.search,
            timings=tuple(outcome.timings),
            handshake=self._device.handshake if outcome.is_timed else "none",
            clock=outcome.clock,
            isolation=outcome.layers,
            rule=RULE,
            seconds=self._watch.result(),
            environment=machine.facts() | self._device.facts() | precision_facts(),
            objection=self._task.objection,
            started_at=self._started_at.isoformat(timespec="seconds").replace("+00:00", "Z"),
        )


def evaluate(
    submission: Submission,
    task: LoadedTask | None = None,
    *,
    device: DeviceKind | str = "auto",
    tier: Tier = "full",
    seed: int | None = None,
) -> RunRecord:
    """Judge one submission. For many of them keep an `Evaluator`, which stays warm."""
    with Evaluator(device) as evaluator:
        return evaluator.evaluate(submission, task, tier=tier, seed=seed)
