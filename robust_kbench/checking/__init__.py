"""Run cases of a submission in its workers and judge them; a crash costs a case, not the evaluation."""

from __future__ import annotations

import itertools
import os
import secrets
import threading
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Self

import torch

from robust_kbench.cases import large
from robust_kbench.cases.draw import Draw
from robust_kbench.cases.more_draws import inputs_of_more_draws
from robust_kbench.cases.values import make_zeros
from robust_kbench.checking.attempt import Attempt
from robust_kbench.checking.circumstances import Circumstances, most_bytes
from robust_kbench.checking.crew import Crew
from robust_kbench.checking.room import Room
from robust_kbench.contestant import Contestant
from robust_kbench.devices import Device, machine, shares
from robust_kbench.errors import KBenchError
from robust_kbench.isolation.calling import worker_bytes
from robust_kbench.isolation.calls import case_footprint
from robust_kbench.isolation.pool import WarmPool
from robust_kbench.languages.triton import BFLOAT16_REASON
from robust_kbench.oracle.properties import relate
from robust_kbench.oracle.verdict import Judge, not_checked
from robust_kbench.progress import Progress
from robust_kbench.schema.case import Case
from robust_kbench.schema.finding import Finding
from robust_kbench.schema.observation import Observation
from robust_kbench.schema.record import CaseResult, Tier
from robust_kbench.schema.task import FloatDType, Task
from robust_kbench.stopwatch import Stopwatch

CASE_TIMEOUT_S = {"native": 10.0, "interpreted": 60.0, "emulated": 60.0}
IMPORTING_TIMEOUT_S = 20.0
"""Of a call of a kernel in Python, which may import a compiler and start it: from then on it has longer still."""
_COMPILING_TIMEOUT_S = 40.0
"""Of a call that compiles its kernel, beside as many others as there are cores."""
LARGE_TIMEOUT_S = 300.0
RELATED_CASES: dict[Tier, int] = {"quick": 1, "full": 4, "final": 4}
"""On how many drawn cases of each dtype each declared property of the task is held; one where nothing runs natively."""
_MOST_LANES, _MOST_AHEAD, _CORES_FOR_ONE_AHEAD, _THREADS_BESIDE_COMPILERS = 3, 4, 4, 2
_MAX_DEATHS = 2  # further cases would tell nothing new, and a hang costs its whole time limit


@dataclass
class Checked:
    """Results of the cases, and the calls that were seen."""

    results: list[CaseResult] = field(default_factory=list)
    seen: list[Observation] = field(default_factory=list)
    log: str = ""


@contextmanager
def _few_threads_for_torch(*, is_due: bool) -> Iterator[Callable[[], None]]:
    """Yield what a thread calls to judge on few cores, while compilers have the others.

    With more threads than cores, each of PyTorch's operations would wait for one that has none.
    """
    usual = torch.get_num_threads()
    try:
        yield lambda: torch.set_num_threads(min(usual, _THREADS_BESIDE_COMPILERS) if is_due else usual)
    finally:
        torch.set_num_threads(usual)


class _Todo:
    """Cases of one dtype that nobody has judged yet, and how often a worker has died of one."""

    def __init__(self, task: Task, cases: Sequence[Case]) -> None:
        ordinary = [case for case in cases if case.probe is None]
        self.largest = max(ordinary, key=lambda case: case_footprint(task, case), default=None)
        self.cases = deque(cases)
        self.deaths = 0


class Checker:
    """Judges cases of one contestant in workers that live as long as it does; use it as a context manager."""

    def __init__(
        self,
        task: Task,
        contestant: Contestant,
        *,
        judge: Judge,
        pool: WarmPool,
        device: Device,
        watch: Stopwatch,
        tier: Tier,
        make_room: Callable[[], bool] = lambda: False,
    ) -> None:
        """Any tier but quick runs small cases of an emulated kernel under the checker; failing ones always are.

        `make_room`: see checking.room.
        """
        self._task, self._contestant, self._judge, self._watch = task, contestant, judge, watch
        self._pool, self._device = pool, device
        self._tier: Tier = tier
        self._searches_defects = tier != "quick"
        self._judging = threading.Lock()
        self._timeout_s = CASE_TIMEOUT_S[contestant.execution]
        if contestant.submission.file.language == "python" and contestant.execution == "native":
            self._timeout_s = IMPORTING_TIMEOUT_S
        if self._compiles:
            self._timeout_s = max(self._timeout_s, _COMPILING_TIMEOUT_S)
        self._room = Room(make_room)
        self._crew, self._other_crew = self._crew_of_its_own(), self._crew_of_its_own()
        related = RELATED_CASES[tier] if contestant.execution == "native" else 1
        self._due = {(dtype, prop): related for dtype in contestant.built for prop in range(len(task.properties))}
        self.checked = Checked()
        self._room_bytes = 0
        self._this_thread, self._lane_numbers = threading.local(), itertools.count()

    def _crew_of_its_own(self, room: Room | None = None) -> Crew:
        """Workers that share nothing with other crews but the device's memory."""
        return Crew(
            self._task, self._contestant, self._pool, self._device, self._timeout_s, self._watch,
            aside=self._others_judge, room=room or self._room,
        )  # fmt: skip

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with ExitStack() as stack:
            for crew in self._room.crews:
                stack.callback(crew.close)

    @property
    def layers(self) -> tuple[str, ...]:
        """The sandbox's layers around the latest worker."""
        return self._crew.layers

    def expect(self, cases: Sequence[Case]) -> None:
        """Make room for cases like these from the beginning: workers that have too little start anew."""
        self._room_bytes = max(case_footprint(self._task, case) for case in cases)
        if self._contestant.execution == "native":
            self._room_bytes = max(self._room_bytes, most_bytes(self._task, cases, self._tier))

    def check(self, cases: Sequence[Case], progress: Progress) -> None:
        """Judge `cases` into `checked`, dtype by dtype; on a CUDA device all dtypes side by side.

        Triton kernels, which are compiled anew for most cases, have several workers of each dtype there. The largest
        case of each dtype is called twice. Raises Unsupported for what the emulator cannot run.
        """
        self.expect(cases)
        self._crew.reserve(self._room_bytes)
        dtypes = list(dict.fromkeys(case.dtype for case in cases))
        for dtype in dtypes:  # in this thread: a warm process dies with the one that has started it
            self._contestant.warm_up(self._pool, self._device, dtype)
        todo = [_Todo(self._task, [case for case in cases if case.dtype == dtype]) for dtype in dtypes]
        at_once = min(len(dtypes), self._device.starts_at_once)
        if at_once == 1:
            for each in todo:
                self._work_off(each, 0, len(cases), progress)
            return
        lanes = self._lanes(len(dtypes), shares.CHECKS)
        with (
            _few_threads_for_torch(is_due=lanes > 1) as adapt,
            ThreadPoolExecutor(at_once * lanes, "", adapt) as threads,
        ):
            checks = [
                threads.submit(self._work_off, each, lane, len(cases), progress)
                for lane in range(lanes)
                for each in todo
            ]
        for check in checks:
            check.result()

    def _lanes(self, dtypes: int, share: float) -> int:
        if not self._compiles:
            return 1  # the judge has no less to do than the kernel
        most = max(1, min(_MOST_LANES, (len(os.sched_getaffinity(0)) - 2) // dtypes))
        return min(most, self._lanes_for(dtypes, self._room_bytes, share))

    def _lanes_for(self, dtypes: int, call_bytes: int, share: float) -> int:
        """Count the lanes, each with a worker of each dtype, that a share of the device's free memory holds."""
        return max(
            1, int(share * (self._device.free_bytes() or 0)) // (dtypes * worker_bytes(self._device, call_bytes))
        )

    @property
    def _compiles(self) -> bool:
        """Tell if the kernel is compiled anew in most calls."""
        return self._contestant.submission.file.language == "triton"

    def _work_off(self, todo: _Todo, lane: int, count: int, progress: Progress) -> None:
        """Judge cases of one dtype until none is left; others may do so, too, in another lane."""
        self._crew.take_lane(lane)
        while True:
            with self._judging:
                if not todo.cases:
                    return
                case = todo.cases.popleft()
                if todo.deaths >= _MAX_DEATHS:
                    result = not_checked(case, f"not run: the worker had died {todo.deaths} times")
                else:
                    result = self._judged(case, self._crew, is_repeated=case is todo.largest, every_property=False)
                    is_dead = not self._crew.has_worker(case.dtype)
                    todo.deaths += result.status in ("crashed", "timed_out") and is_dead
                self.checked.results.append(result)
                progress("cases", len(self.checked.results), count)

    @contextmanager
    def _others_judge(self) -> Iterator[None]:
        """Let another thread judge; only one does so at a time."""
        if self._room.is_short or not self._judging.locked():
            yield
            return
        self._judging.release()
        try:
            yield
        finally:
            self._judging.acquire()

    def compile_ahead(self, cases: Sequence[Case]) -> None:
        """Call the kernel once on each of `cases`, whose values are zeros, so that later workers find it compiled.

        Beside `check`, in workers of its own. What comes of it says nothing: each call is made again and judged.
        """
        crew = self._crew_of_its_own(Room())  # a call that says nothing ends nobody's work
        self._room.crews.append(crew)  # others may end its own
        todo = deque(cases)

        def work_off(lane: int) -> None:
            crew.take_lane(lane)
            with self._judging:
                while todo:
                    case = todo.popleft()
                    if not self._is_called_ahead(crew, case):
                        todo.clear()  # a kernel that hangs would cost as much each time

        call_bytes = max(case_footprint(self._task, case) for case in cases)
        lanes = self._lanes_for(len({case.dtype for case in cases}), call_bytes, shares.COMPILING_AHEAD)
        lanes = min(lanes, len(cases), _MOST_AHEAD, max(1, len(os.sched_getaffinity(0)) // _CORES_FOR_ONE_AHEAD))
        try:
            crew.reserve(call_bytes)
            with ThreadPoolExecutor(lanes) as threads:
                list(threads.map(work_off, range(lanes)))
        finally:
            with self._judging:  # nobody looks for the device's memory meanwhile
                crew.close()

    def _is_called_ahead(self, crew: Crew, case: Case) -> bool:
        if self._room.is_short or any(result.status != "passed" for result in self.checked.results):
            return False
        try:
            # Scalars are drawn, and must not be those of a call that is judged later.
            drawn = make_zeros(self._task, case.model_copy(update={"seed": secrets.randbits(62)}))
            seen = crew.call(case, drawn, self._contestant.built[case.dtype], None)
        except (KBenchError, RuntimeError):
            return False
        return seen.ending not in ("crashed", "timed_out")

    def judge(self, case: Case) -> CaseResult:
        """Judge one more case, by every property of the task too. Its result is not added to the others."""
        return self._judged(case, self._crew, is_repeated=False, every_property=True)

    def judge_beside(self, case: Case) -> CaseResult:
        """Do the same while another thread is in `check`, in workers of its own."""
        if (lane := getattr(self._this_thread, "lane", None)) is None:
            lane = self._this_thread.lane = next(self._lane_numbers)
        self._other_crew.take_lane(lane)
        with self._judging:
            self._other_crew.reserve(self._room_bytes)
            return self._judged(case, self._other_crew, is_repeated=False, every_property=True)

    @property
    def lanes(self) -> int:
        """Number of threads that should call `judge_beside` at once."""
        return self._lanes(len(self._contestant.built), shares.SEARCH)

    def check_large(self, case: Case) -> None:
        """Judge a case that fills the memory, in a worker of its own, or say into `checked` why it cannot be run."""
        self._crew.close()  # or what its workers hold of the memory would excuse the submission
        self._other_crew.close()
        device_free = self._device.free_bytes()
        if (
            reason := large.obstacle(self._task, case, host_free=machine.free_bytes(), device_free=device_free)
        ) is None:
            needed = large.need(self._task, case).host_bytes
            crew = Crew(self._task, self._contestant, self._pool, self._device, LARGE_TIMEOUT_S, self._watch, needed)
            try:
                attempt = Attempt(self._task, self._contestant, crew, self._judge, self._watch, case)
                attempt.run(searches_defects=False)
                result = self._finished(attempt)
            finally:
                crew.close()
        else:
            result = not_checked(case, reason)
        self.checked.results.append(result)

    def draw_more(self, cases: Sequence[Case], tier: Tier) -> None:
        """Call with many seeds, and add what is drawn to the draws of all calls, until something is wrong with these.

        A call that gives no answer is a failed case.
        """
        with self._judging:
            for case in cases:
                for inputs in inputs_of_more_draws(self._task, case, tier):
                    if self._judge.pooled_problem:
                        return
                    seen = self._crew.call(case, inputs, self._contestant.built[case.dtype], None)
                    self.checked.seen.append(replace(seen, outputs={}))
                    if seen.ending != "returned" or seen.problems:
                        self.checked.results.append(self._judge.verdict(seen, inputs).result)
                        return
                    with self._watch.measure("judging"):
                        self._judge.pool(case, inputs, seen.outputs)

    def use_otherwise(self, cases: Sequence[Case], seed: int) -> list[Finding]:
        """Call as real code does, one case of each dtype among those of `cases`; a failure is one more result.

        On a CUDA device dtypes are called side by side, as in `check`.
        """
        passed = {result.seed for result in self.checked.results if result.status == "passed"}
        fit = [case for case in cases if case.seed in passed]
        findings: list[Finding] = []

        def use(dtypes: Collection[FloatDType]) -> None:
            with self._judging:
                ways = Circumstances(self._task, self._contestant, self._crew, self._judge, self._tier)
                self.checked.results += ways.check(fit, seed, dtypes)
                self.checked.seen += [replace(seen, outputs={}) for seen in ways.seen]
                findings.extend(ways.findings)

        dtypes = list(self._contestant.built)
        if self._device.starts_at_once == 1:
            use(dtypes)
        else:
            with ThreadPoolExecutor(len(dtypes)) as threads:
                list(threads.map(use, [[dtype] for dtype in dtypes]))
        self._crew.close()  # buffers that a kernel keeps may require gradients now
        return findings

    def _judged(self, case: Case, crew: Crew, *, is_repeated: bool, every_property: bool) -> CaseResult:
        if case.dtype == "bfloat16" and self._contestant.execution == "interpreted":
            return not_checked(case, BFLOAT16_REASON)
        attempt = Attempt(self._task, self._contestant, crew, self._judge, self._watch, case)
        attempt.run(searches_defects=self._searches_defects)
        if is_repeated and attempt.is_right:
            attempt.repeat()
        self._relate(attempt, case, every_property)
        return self._finished(attempt)

    def _finished(self, attempt: Attempt) -> CaseResult:
        self.checked.log = self.checked.log or next((seen.log for seen in attempt.seen if seen.log), "")
        # Guards look at facts, not at values; a record of 120 cases must not hold 120 outputs in memory.
        self.checked.seen += [replace(observation, outputs={}) for observation in attempt.seen]
        return attempt.result

    def _relate(self, attempt: Attempt, case: Case, every_property: bool) -> None:
        """Hold the task's properties, as long as the case is right: all of them, or those that are still due."""
        for number, prop in enumerate(self._task.properties):
            key = (case.dtype, number)
            if not attempt.is_right or not (every_property or self._due[key]):
                continue
            draw = Draw(case.seed, f"property {number}")
            if (relation := relate(self._task, prop, case, attempt.inputs, draw)) is not None:
                self._due[key] -= not every_property
                attempt.relate(relation)
