"""Timing session: fresh workers of every contestant, called in random order, round by round, from one shared arena.

Every call gets values that are fresh to its worker, at fresh addresses, with caches emptied before it, and every output
is verified: a secret share against float64, the others against PyTorch at the same dtype. Calls of the candidate that
only check (the timed shape under every value distribution, and the spot checks) are mixed in at random, so that no call
tells whether it is timed.
"""

from __future__ import annotations

import gc
import random
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from robust_kbench.cases.bank import Bank
from robust_kbench.cases.draw import Draw
from robust_kbench.cases.values import Inputs, make_inputs
from robust_kbench.checking.attempt import Attempt
from robust_kbench.contestant import Contestant
from robust_kbench.devices import Device
from robust_kbench.emulation import Mode
from robust_kbench.errors import HarnessError
from robust_kbench.isolation.calling import open_caller
from robust_kbench.isolation.calls import case_footprint
from robust_kbench.isolation.device_memory import is_short, stays_short, take_too_much
from robust_kbench.isolation.pool import WarmPool
from robust_kbench.isolation.process import Worker
from robust_kbench.languages.built import Built
from robust_kbench.oracle.properties import relate
from robust_kbench.oracle.verdict import Judge, Limits
from robust_kbench.schema.case import Case
from robust_kbench.schema.finding import Finding
from robust_kbench.schema.observation import Observation, Way
from robust_kbench.schema.record import (
    CANDIDATE,
    CONTROL,
    COPIED_RESULTS,
    EAGER,
    ERRING_BASELINE,
    LOST_BASELINE,
    REFERENCE,
    REPLACED_BASELINE,
    WIDE,
)
from robust_kbench.schema.task import Distribution, FloatDType, Task
from robust_kbench.stopwatch import Stopwatch
from robust_kbench.timing import spot_checks
from robust_kbench.timing.arenas import Arenas
from robust_kbench.timing.calibration import Calibration
from robust_kbench.timing.clock_drift import LEFT_BEHIND, MOST_OWN_NS, UNSTEADY_CLOCK, ClockDrift
from robust_kbench.timing.drawing import Drawing
from robust_kbench.timing.peers import Peers
from robust_kbench.timing.plan import Plan
from robust_kbench.timing.result import SessionResult
from robust_kbench.timing.spending import Spending
from robust_kbench.timing.workers import Workers

_HEAP_CALLS, _MAX_HEAP_BYTES = 16, 512 << 20
_WAY_CALLS, _EMPTY_CALLS, _EMPTY_TRIES = 3, 7, 3
_FIRST_EMPTY_CALLS, _CONTEXT_CALLS = 3, 11  # kernels are loaded in the first ones
_LONGEST_TURN_NS, _SHORTEST_BY_WORD_NS = 1_000_000, 700_000
"""Bounds of calls on a CUDA device, two changes of contexts included.

The first is the longest call that ends by the judge's turn, which comes after 2 ms at the latest. The second is the
shortest call that ends by the worker's word.
"""
_SOME_ROUNDS, _MOST_UNCOUNTED, _MOST_ROUNDS = 4, 0.25, 2
_MOST_COPIED = 0.25  # of the rounds
_BUSY = "keeps the device busy between its calls, so that nobody else can be timed"
_DRAWING_THREADS = 8
_LOOKS, _LOOKING_ROUNDS, _SETTLING_S = 2, 10, 0.3
_LONGEST_S = 1_800.0
"""Seconds that a candidate's calls may take in a session."""
_CLEARLY_SLOWER = 1.25
"""Ratio of a dropped baseline's fastest call to eager PyTorch's slowest one, above which it is called no longer."""

_Check = Callable[[], None]
_Draw = Callable[[], Inputs]


class TimingSession:
    """Session that measures one timed case. `run` may be called once."""

    def __init__(
        self,
        task: Task,
        case: Case,
        contestants: Sequence[Contestant],
        plan: Plan,
        *,
        judge: Judge,
        bank: Bank,
        pool: WarmPool,
        device: Device,
        arenas: Arenas,
        watch: Stopwatch,
        timeout_s: float,
        distributions: Sequence[Distribution],
        spots: Sequence[spot_checks.Spot] = (),
        is_first: bool = True,
        former: SessionResult | None = None,
        largest_call_bytes: int = 0,
        spending: Spending | None = None,
    ) -> None:
        """Set up a session of `case`, one of the task's timed cases.

        `distributions`: those that are checked here, in calls that are not timed; `spots`: further calls that check.
        `is_first`: the first session of each case also judges the results of baselines' first calls. `former`: the
        result of the case's session before this one, in other workers. `largest_call_bytes`: of the tensors of any call
        that its workers may have served in other sessions. `spending`: of all sessions.
        """
        self._spending = spending or Spending()
        self._largest_call_bytes = max(largest_call_bytes, case_footprint(task, case))
        self._is_first, self._former = is_first, former
        self._task, self._case, self._plan, self._judge = task, case, plan, judge
        self._contestants = list(contestants)
        self._distributions, self._spots = distributions, spots
        self._device, self._watch = device, watch
        self._drawing = Drawing(task, case, bank, watch, core=device.aside_core)
        self._caller = open_caller(device, task, arenas.common, timeout_s=timeout_s, place=device.judging_place)
        self._random = random.SystemRandom()
        self._limits: dict[tuple[str, Distribution], Limits] = {}
        self._pool, self._arenas = pool, arenas
        self._workers: dict[str, Worker] = {}
        """Workers that are still called, by contestant."""
        self._peers = Peers()
        self._erring: set[str] = set()
        self._ways: dict[str, Way] = {contestant.name: "word" for contestant in self._contestants}
        self._unlaunched = self._held_up = 0
        self._spent_s = 0.0
        self._copied: Counter[str] = Counter()
        self._warm_ns: dict[str, list[int]] = defaultdict(list)
        """Times of calls that warm up, by contestant."""
        self._is_sampling = False
        self._checks: list[_Check] | None = None
        self._empty_events_ns: dict[str, list[int]] = {}
        self._calibration = Calibration() if device.kind == "cuda" else None
        self._result = SessionResult(
            {contestant.name: [] for contestant in self._contestants}, self._calibration, self._ways
        )

    def start(
        self,
        workers: Workers | None = None,
        dtypes: Sequence[FloatDType] = (),
        meanwhile: Callable[[], None] = lambda: None,
    ) -> Workers:
        """Start workers, which may serve several sessions; the caller closes them.

        `workers`: those that are open already. `dtypes`: those of all these sessions. `meanwhile`: called while they
        load; nothing is measured then. Nothing else may be at work on this machine but they.
        """
        is_open = workers is not None
        workers, dtypes = workers or Workers(self._pool, self._device, self._arenas), dtypes or [self._case.dtype]
        try:
            if not is_open:
                workers.open(self._contestants, dtypes)
            measures = {} if self._calibration is None else self._measures_of_nothing
            workers.load(dtypes, self._heap_bytes(), meanwhile=meanwhile, **measures)
            self._spending.add(CANDIDATE, workers.loading_s.get(CANDIDATE, 0.0))
        except BaseException:
            workers.close()
            raise
        return workers

    def run(self, workers: Workers | None = None) -> SessionResult:
        """Warm up, and measure. A failure of the candidate ends the session and is told in `failure`.

        `workers`: those that `start` of this session or of another one has started, after `look_at_the_idle_device` of
        all. Else the session has workers of its own.
        """
        if workers is None:
            return self._run_alone()
        self._workers = dict(workers.called)
        if self._calibration is not None:
            self._calibration.nothing = workers.constants_ns
            self._result.drift = ClockDrift(workers.constants_ns)
            self._empty_events_ns = workers.empty_events_ns
        for name, error in workers.failures.items():
            self._give_up(name, str(error))
        if CANDIDATE not in self._workers:
            return self._result
        with ThreadPoolExecutor(_DRAWING_THREADS) as threads:
            wait(self.draw_ahead(threads))
        with ExitStack() as stack:
            stack.enter_context(self._device.pinned())
            stack.enter_context(_no_garbage_collection())
            stack.callback(self._drawing.close)
            before = workers.others_seconds()
            started = time.monotonic()
            try:
                self._measure()
            except RuntimeError:  # of PyTorch, or of the driver
                if not self._is_memory_short or not self._has_taken_memory():
                    raise
            self._result.clock = "judge" if self._device.kind == "cpu" else "wall" if self._is_wall else "gate"
            elapsed = time.monotonic() - started
            load = (workers.others_seconds() - before) / elapsed if elapsed > 0 else 0.0
            self._result.foreign_load = max(0.0, load - self._device.spare_cores)
        return self._result

    def _run_alone(self) -> SessionResult:
        """Run with workers that serve this session alone."""
        self.look_at_the_idle_device()
        with self._watch.measure("workers"):
            workers = self.start()
        try:
            return self.run(workers)
        finally:
            with self._watch.measure("workers"):
                workers.close()

    @property
    def case(self) -> Case:
        """Timed case that the session measures."""
        return self._case

    @property
    def so_far(self) -> SessionResult:
        """Result so far, also where `run` raises an error."""
        return self._result

    @property
    def checked_bytes(self) -> int:
        """Memory of the values of all calls that only check."""
        return case_footprint(self._task, self._case) * (len(self._distributions) + len(self._spots))

    def draw_ahead(self, threads: ThreadPoolExecutor) -> list[Future[Inputs]]:
        """Begin to draw the values of calls that only check, in other threads.

        All must be there before anything is measured: other use of the host's memory delays the gate by 1 us.
        """
        drawn: list[Future[Inputs]] = []

        def begin(draw: _Draw) -> _Draw:
            drawn.append(threads.submit(draw))
            return drawn[-1].result

        if self._calibration is not None and self._checks is None:
            self._checks = self._drawn_checks(begin)
        return drawn

    def look_at_the_idle_device(self) -> None:
        """Measure the judge's own work on a CUDA device before there is any worker to disturb it."""
        if self._calibration is not None:
            case, inputs = self._drawing.of_call()
            caller: Any = self._caller
            delays = caller.usual_delays(self._arenas.common, self._candidate.abi, case, inputs)
            self._peers.expect((delays.device_ns, delays.host_ns))

    @property
    def _measures_of_nothing(self) -> dict[str, Callable[[Worker], list[int]]]:
        return {"call_nothing": self._constant_ns, "events_around_nothing": self._empty_events_in}

    def _constant_ns(self, worker: Worker) -> list[int]:
        """Measure the constant in the clock of a worker's calls before anything is loaded there."""
        caller: Any = self._caller
        calls = [caller.call_nothing(worker, self._case) for _ in range(_FIRST_EMPTY_CALLS + _CONTEXT_CALLS)]
        counted = [seen for seen in calls[_FIRST_EMPTY_CALLS:] if seen.clock is not None]
        return [seen.elapsed_ns for seen in counted if not self._peers.delay_ns(seen)]

    def _empty_events_in(self, worker: Worker) -> list[int]:
        """Measure the time between two events around an empty kernel in a worker."""
        caller: Any = self._caller
        calls = [caller.call_nothing(worker, self._case, with_events=True) for _ in range(_EMPTY_CALLS + 1)]
        return [seen.event_ns for seen in calls[1:] if seen.event_ns]

    def _heap_bytes(self) -> int:
        """Return the room for the results of several calls, and for the memory between their inputs and them."""
        if self._device.copies_out:  # they are on the device
            return 0
        return min(_HEAP_CALLS * case_footprint(self._task, self._case), _MAX_HEAP_BYTES)

    def _measure(self) -> None:
        checks = self._drawn_checks(lambda draw: draw) if self._checks is None else self._checks  # on a processor
        self._first_calls()
        self._choose_ways()
        self._warm_up(checks)
        if self._plan.spares_reference:
            self._drop_slow_reference()
        disturbance = self._device.watch()
        self._is_sampling, self._unlaunched = True, 0  # first calls take long, as kernels are loaded or compiled
        self._take_samples(checks)
        self._is_sampling = False
        self._result.disturbance = disturbance() or self._disturbance()
        while checks and not self._result.failure:
            checks.pop()()
            self._round([])  # beside others, as all before
        if CANDIDATE in self._workers and not self._result.failure:  # it must not behave only until it was timed
            self._untimed_call(self._candidate)
        if self._result.drift.is_too_large and not self._result.failure:
            self._find_out_why_the_clock_drifts()

    def _drawn_checks(self, begin: Callable[[_Draw], _Draw]) -> list[_Check]:
        """List calls that only check, in random order; `begin` wraps the function that draws their values."""
        checks: list[_Check] = [
            *(partial(self._check_values, case, begin(self._values(case))) for case in self._cases_to_check()),
            *(partial(self._check_spot, kind, case, begin(self._values(case))) for kind, case in self._spots),
        ]
        self._random.shuffle(checks)
        return checks

    def _cases_to_check(self) -> list[Case]:
        """List cases to check, with a seed that goes into the record, so that calls can be repeated."""
        return [
            self._case.model_copy(update={"seed": self._random.getrandbits(62), "distribution": distribution})
            for distribution in self._distributions
        ]

    def _values(self, case: Case) -> _Draw:
        def draw() -> Inputs:
            inputs = make_inputs(self._task, case)
            inputs.digest  # noqa: B018 - takes a while, and is kept
            return inputs

        return draw

    def _first_calls(self) -> None:
        """Make the first calls. The candidate's is judged in full, and in the first session those of baselines, too.

        The reference's is not judged in full where the plan spares it. The cost of a first call, compiling included, is
        told and never scored.
        """
        for contestant in self._in_random_order():
            case, inputs = self._drawing.of_call()
            is_spared = contestant.name == REFERENCE and self._plan.spares_reference
            in_full = contestant.name == CANDIDATE or (self._is_first and not is_spared)
            seen = self._call(contestant, case, inputs, is_first=True, is_read=in_full)
            self._settle(contestant, inputs, seen, in_full=in_full)
            if contestant.name in self._workers and not self._result.failure:
                self._result.first_call_us[contestant.name] = round(seen.elapsed_ns / 1e3, 1)

    def _warm_up(self, checks: list[_Check]) -> None:
        """Warm up in the same random alternation as the rounds that count.

        Warming one worker after the other leaves a bias.
        """
        rounds, started = 0, time.monotonic()
        while not self._result.failure and not self._is_warm(rounds, time.monotonic() - started):
            self._round(checks)
            rounds += 1

    def _is_warm(self, rounds: int, seconds: float) -> bool:
        return self._plan.is_warm(rounds, seconds) or (rounds > 0 and self._spending.is_over)

    def _drop_slow_reference(self) -> None:
        """Leave out the decomposition where eager PyTorch, its operator, is clearly faster: it can decide nothing."""
        if REFERENCE not in self._workers or EAGER not in self._workers:
            return
        ours, theirs = (self._result.without_constant(name, self._warm_ns[name]) for name in (EAGER, REFERENCE))
        if ours and theirs and min(theirs) > _CLEARLY_SLOWER * max(ours):
            self._leave_out(REFERENCE)

    def _leave_out(self, name: str) -> None:
        """Call a baseline no longer; it has no samples either."""
        self._workers.pop(name, None)
        self._contestants = [contestant for contestant in self._contestants if contestant.name != name]
        self._result.samples.pop(name, None)

    def _take_samples(self, checks: list[_Check]) -> None:
        self._result.drift.begin_phase()
        rounds, started = 0, time.monotonic()
        while True:
            self._round(checks, keep=True, drift=self._result.drift if self._calibration else None)
            if self._result.failure:
                return
            rounds += 1
            if self._unlaunched >= max(_SOME_ROUNDS, _MOST_UNCOUNTED * rounds) and not self._is_wall:
                self._go_by_the_wall_clock()
                rounds = 0
                continue
            kept = len(self._result.samples[CANDIDATE])  # rounds that do not count are no grounds to stop
            stop = self._plan.stop(self._result.logs(), kept, time.monotonic() - started)
            if kept >= _SOME_ROUNDS and self._spending.is_over:
                stop = "slowness"
            if stop is not None or rounds >= _MOST_ROUNDS * self._plan.max_rounds:
                self._result.stop = stop or "rounds"
                break
        if not all(self._result.samples.values()):
            self._say_why_none_counts(rounds)
        self._tell_of_copies(rounds)

    def _tell_of_copies(self, rounds: int) -> None:
        """Warn of contestants whose results were copied in calls that count. Slowed baselines must not be ranked by."""
        for name, count in self._copied.items():
            if count > _MOST_COPIED * rounds:
                guard = COPIED_RESULTS if name == CANDIDATE else LOST_BASELINE
                words = "had no room in the judge's memory, and were copied in its time"
                self._warn(
                    guard, f"results of {name} {words}: the device has too little free memory for calls like these"
                )

    def _say_why_none_counts(self, rounds: int) -> None:
        """Blame the candidate where its outputs are never complete in time, or where it keeps the device busy.

        Raises HarnessError elsewhere.
        """
        if 2 * sum(seen.is_late and seen.looks_scored for seen in self._result.seen) >= rounds:
            self._result.failure = "its outputs change after the end of the call, time and again"
            return
        if self._keeps_the_device_busy():
            self._result.failure = _BUSY
            return
        raise HarnessError(f"{self._case}: none of {rounds} rounds counts: {self._disturbance() or 'no call ends'}")

    @property
    def _is_wall(self) -> bool:
        return "wall" in self._ways.values()

    def _choose_ways(self) -> None:
        """Choose how each contestant's calls end on a CUDA device, once their kernels are loaded.

        Where a host has to wait for the device in a call, launches are a part of the call's cost. Then they count for
        all contestants alike. So they do where a scalar could be used before: a seed is enough to draw a mask.
        """
        if self._calibration is None or self._result.failure:
            return
        if self._task.is_random:
            self._go_by_the_wall_clock()
            return
        known = self._former.ways if self._former else {}
        if set(known) >= set(self._ways) and "wall" not in known.values():
            self._ways.update({name: known[name] for name in self._ways})
            if not self._takes_over_the_calibration():
                self._calibrate()
            return
        for contestant in self._in_random_order():
            taken = [ns for _ in range(_WAY_CALLS) if (ns := self._untimed_call(contestant, some=True)) is not None]
            if not taken and contestant.name in self._workers and not self._result.failure:
                self._go_by_the_wall_clock()
                return
            if taken and min(taken) < _LONGEST_TURN_NS:
                self._ways[contestant.name] = "turn"
        if not self._result.failure:
            self._calibrate()

    def _takes_over_the_calibration(self) -> bool:
        """Use the empty kernels of the session before this one, where they are a bound and no more (`offset_ns`).

        They are only a bound where all calls end alike, and eager PyTorch's events are those of this turn.
        """
        former, trusted = self._former, self._trusted.name
        events_ns = self._empty_events_ns.get(trusted)
        if former is None or former.calibration is None or former.trusted != trusted or not events_ns:
            return False
        ways = set(self._ways.values())
        if len(ways) > 1 or not all(former.calibration.empty[way] for way in ways):
            return False
        assert self._calibration is not None
        self._calibration.empty.update({way: former.calibration.empty[way] for way in ways})
        self._calibration.empty_events = events_ns
        return True

    def _go_by_the_wall_clock(self) -> None:
        self._ways.update(dict.fromkeys(self._ways, "wall"))
        self._forget_samples()
        self._calibrate()

    def _forget_samples(self) -> None:
        self._unlaunched = 0
        if self._calibration is not None:
            self._calibration.forget()
        for samples in self._result.samples.values():
            samples.clear()

    def _calibrate(self) -> None:
        """Measure an empty kernel, in each way in which calls of this session end."""
        assert self._calibration is not None
        self._result.drift.begin_phase()
        for way in set(self._ways.values()):
            self._calibration.empty[way] = [seen.elapsed_ns for seen in self._empty_calls(way)]
        events_ns = self._empty_events_ns.get(self._trusted.name)
        if not events_ns:  # eager PyTorch is left out
            empty = [self._calibrating_call("word", with_events=True) for _ in range(_EMPTY_CALLS)]
            events_ns = [seen.event_ns for seen in empty if seen.event_ns]
        self._calibration.empty_events = events_ns
        self._result.drift.begin_phase()  # what follows may be samples

    def _empty_calls(self, way: Way) -> list[Observation]:
        """Make calls of an empty kernel, and return those before which no other worker had the device.

        Where there are too few, the candidate is ended and blamed if there are enough without it. Raises HarnessError
        where there are too few even then.
        """
        for _ in range(_EMPTY_TRIES):
            seen = [self._calibrating_call(way) for _ in range(_EMPTY_CALLS)]
            counted = [each for each in seen if each.clock is not None and not self._peers.delay_ns(each)]
            if len(counted) > _EMPTY_CALLS // 2:
                return counted
        if CANDIDATE in self._workers and not self._result.failure:
            self._end_the_candidate()
            counted = self._empty_calls(way)  # which counts none again, if it is somebody else
            self._result.failure = _BUSY
            return counted
        raise HarnessError(f"{self._case}: others have the device, so that its clock cannot be calibrated")

    def _calibrating_call(self, way: Way, *, with_events: bool = False) -> Observation:
        """Make a trusted call of an empty kernel, and look at the clock beside it."""
        self._call_nothing(self._result.drift)
        return self._trusted_call(way, is_empty=True, with_events=with_events)

    def _trusted_call(self, way: Way, *, is_empty: bool = False, with_events: bool = False) -> Observation:
        """Make a call in a trusted worker that is no sample. Raises HarnessError where it gives no answer."""
        trusted = self._trusted
        case, inputs = self._drawing.of_call()
        worker = self._workers[trusted.name]
        options: dict[str, Any] = {"way": way, "is_empty": is_empty, "with_events": with_events}
        seen = self._caller.call(worker, trusted.abi, case, inputs, **options)
        if seen.ending != "returned":
            raise HarnessError(f"a call of {trusted.name} that calibrates the clock gave no answer: {seen.message}")
        return seen

    @property
    def _trusted(self) -> Contestant:
        """Contestant whose calls calibrate the clock: eager PyTorch, or another baseline where that is left out."""
        baselines = [each for each in self._contestants if each.name != CANDIDATE]
        chosen = next((each for each in baselines if each.name == EAGER), baselines[-1])
        if chosen.name != self._result.trusted and self._calibration is not None:
            self._result.trusted = chosen.name
            self._calibration.forget()
        return chosen

    def _disturbance(self) -> str:
        """Tell why the samples must not count: others had the device before calls of baselines. Empty if they count."""
        rounds = len(self._result.samples.get(CANDIDATE, ()))
        if self._held_up > max(_SOME_ROUNDS, _MOST_UNCOUNTED * rounds):
            return f"others had the device before {self._held_up} calls of baselines"
        return ""

    def _call_nothing(self, drift: ClockDrift) -> None:
        """Look at the judge's clock on a CUDA device, by an empty call in a trusted worker."""
        name, caller = self._trusted.name, self._caller
        seen = caller.call_nothing(self._workers[name], self._case)  # type: ignore[union-attr]
        is_counted = seen.clock is not None and not self._peers.delay_ns(seen)
        drift.add(name, seen.elapsed_ns if is_counted else None)

    def _find_out_why_the_clock_drifts(self) -> None:
        """Make the same rounds beside the candidate again, and without it, which is dead after that.

        The drift without the candidate is blamed on no contestant, if it is little. If there is more in the rounds that
        count, and far more beside the candidate again, the candidate is to blame. Else no sample counts.
        """
        drift = self._result.drift
        beside, alone = ClockDrift(drift.before_ns), ClockDrift(drift.before_ns)
        self._look_in_rounds(beside)
        if self._result.failure:
            return
        self._end_the_candidate()
        self._look_in_rounds(alone)
        if alone.median_ns > MOST_OWN_NS:
            self._result.disturbance = f"{UNSTEADY_CLOCK}: {alone}"
            return
        drift.reference_ns = beside.reference_ns = alone.reference_ns = alone.median_ns
        if not drift.is_too_large:
            return
        if beside.is_blatant and not alone.is_too_large:
            self._result.failure = f"{LEFT_BEHIND}: {beside}"
            return
        self._result.disturbance = f"{UNSTEADY_CLOCK}: {drift}"
        self._result.is_steady_alone = not alone.is_too_large

    def _look_in_rounds(self, drift: ClockDrift) -> None:
        for _ in range(_LOOKING_ROUNDS):
            if not self._result.failure:
                self._round([], drift=drift)

    def _keeps_the_device_busy(self) -> bool:
        """Tell if others had the device before calls of baselines, and no longer when the candidate is gone."""
        if not self._disturbance():
            return False
        self._end_the_candidate()
        alone = [self._trusted_call("word") for _ in range(_EMPTY_CALLS)]
        held_up = [seen for seen in alone if self._peers.delay_ns(seen) or seen.taking_excess_ns]
        return len(held_up) <= _EMPTY_CALLS // 2

    def _end_the_candidate(self) -> None:
        """Kill it, and wait until the driver has tidied up."""
        self._workers.pop(CANDIDATE).kill()
        time.sleep(_SETTLING_S)

    def _round(self, checks: list[_Check], *, keep: bool = False, drift: ClockDrift | None = None) -> None:
        """Call every contestant once, and judge only after that.

        Else the contestant that follows the candidate would follow the judging, too. A round counts only as a whole.
        `drift`: look at the clock, too, anywhere among the calls. A disturbance at the place of a baseline's call is
        then as often at the place of a look.
        """
        values = self._drawing.of_round(self._workers)
        calls: list[tuple[Contestant, Inputs, Observation]] = []
        trusted: list[Observation] = []

        def call(contestant: Contestant) -> None:
            case, inputs = values[contestant.name]
            # Baselines are source of ours: between calls that are judged in full they need only go on answering.
            seen = self._call(contestant, case, inputs, is_read=contestant.name == CANDIDATE)
            calls.append((contestant, inputs, seen))

        def call_trusted() -> None:
            trusted.append(self._trusted_call(self._ways[self._trusted.name], with_events=True))

        steps: list[Callable[[], None]] = [partial(call, each) for each in self._in_random_order()]
        if keep and self._calibration is not None and not self._is_wall:
            steps.append(call_trusted)
        if drift is not None:
            steps += [partial(self._call_nothing, drift)] * _LOOKS
        self._random.shuffle(steps)
        for step in steps:
            step()
        self._drawing.begin_next(self._workers)
        taken: dict[str, int | None] = {}
        for contestant, inputs, seen in calls:
            in_full = contestant.name == CANDIDATE and self._random.random() < self._plan.full_rule_share
            taken[contestant.name] = self._settle(contestant, inputs, seen, in_full=in_full)
        if keep and not self._result.failure:
            self._keep_round(taken, trusted)
        elif not self._is_sampling:
            for name, taken_ns in taken.items():
                if taken_ns is not None:
                    self._warm_ns[name].append(taken_ns)
        self._drawing.wait()  # before anything is called
        if not self._result.failure and self._random.random() < self._plan.check_share(len(checks)):
            checks.pop()()

    def _keep_round(self, taken: Mapping[str, int | None], trusted: Sequence[Observation]) -> None:
        times = {name: taken.get(name) for name in self._result.samples}
        if None in times.values():
            return
        for name, elapsed_ns in times.items():
            assert elapsed_ns is not None
            self._result.samples[name].append(elapsed_ns)
        for seen in trusted:
            is_counted = seen.clock is not None and not self._peers.delay_ns(seen) and not seen.taking_excess_ns
            if self._calibration and seen.event_ns and is_counted:
                self._calibration.events.append(seen.event_ns)
                self._calibration.around_events.append(seen.elapsed_ns)

    def _in_random_order(self) -> Iterator[Contestant]:
        """Yield the contestants that still have a worker, until the candidate has failed."""
        for contestant in self._random.sample(self._contestants, len(self._contestants)):
            if contestant.name in self._workers and not self._result.failure:
                yield contestant

    def _untimed_call(self, contestant: Contestant, *, some: bool = False) -> int | None:
        """Make a call like a timed one. Return its time, or None if it failed.

        Every such call of the candidate is judged in full; with `some` only the usual share of them.
        """
        case, inputs = self._drawing.of_call()
        in_full = contestant.name == CANDIDATE and not (some and self._random.random() >= self._plan.full_rule_share)
        return self._settle(contestant, inputs, self._call(contestant, case, inputs), in_full=in_full)

    def _check_values(self, case: Case, drawn: _Draw) -> None:
        with self._watch.measure("inputs"):
            inputs = drawn()
        candidate = self._candidate
        self._settle(candidate, inputs, self._call(candidate, case, inputs), in_full=True, record=True)

    def _check_spot(self, kind: spot_checks.Kind, case: Case, drawn: _Draw) -> None:
        """Check a spot as checked cases are checked, with one of the task's properties if it is about those."""
        with self._watch.measure("inputs"):
            inputs = drawn()
        attempt = Attempt(self._task, self._candidate, self, self._judge, self._watch, case, inputs)
        attempt.run(searches_defects=False)
        if kind == "repeat" and attempt.is_right:
            attempt.repeat()
            self._result.seen += [replace(seen, outputs={}) for seen in attempt.seen if seen.repetition is not None]
        if kind == "property" and attempt.is_right:
            prop = self._random.choice(self._task.properties)
            relation = relate(self._task, prop, case, attempt.inputs, Draw(case.seed, "property"))
            if relation is not None:
                attempt.relate(relation)
        result = attempt.result.model_copy(update={"role": "timed"})  # it belongs to no suite of a seed
        self._result.results.append(result)
        if result.status != "passed":
            self._give_up(CANDIDATE, result.reason or result.status)

    def call(self, case: Case, inputs: Inputs, built: Built, mode: Mode | None) -> Observation:
        """Call the candidate once, as an attempt at a case does."""
        return self._call(self._candidate, case, inputs)

    @property
    def _candidate(self) -> Contestant:
        return next(each for each in self._contestants if each.name == CANDIDATE)

    def _call(
        self, contestant: Contestant, case: Case, inputs: Inputs, *, is_first: bool = False, is_read: bool = True
    ) -> Observation:
        """Call a contestant. `is_read`: on a processor, fetch the answer; without it only its form is looked at."""
        worker = self._workers[contestant.name]
        options: dict[str, Any] = (
            {"way": self._ways[contestant.name]}
            if self._device.kind == "cuda"
            else {"sweep": self._device.sweep, "evict": self._device.evict, "is_read": is_read}
        )
        started = time.monotonic()
        seen = self._caller.call(worker, contestant.abi, case, inputs, **options)
        spent_s = time.monotonic() - started
        self._spending.add(contestant.name, spent_s)
        if contestant.name == CANDIDATE:
            self._spent_s += spent_s
            if self._spent_s > _LONGEST_S and not self._result.failure:
                self._result.failure = f"its calls took {self._spent_s / 60:.0f} minutes in a single session"
        self._watch.add("kernels", seen.elapsed_ns / 1e9)
        self._watch.add("inputs", seen.handing_ns / 1e9)
        self._watch.add("judging", seen.draining_ns / 1e9)
        named_s = (seen.elapsed_ns + seen.handing_ns + seen.draining_ns) / 1e9
        self._watch.add("calls", max(0.0, spent_s - named_s))
        self._keep(contestant.name, seen, is_first=is_first)
        return seen

    def _settle(
        self, contestant: Contestant, inputs: Inputs, seen: Observation, *, in_full: bool, record: bool = False
    ) -> int | None:
        """Judge a call. Return the time that it is charged with; None if it failed, or its time is no sample."""
        name = contestant.name
        problem = self._verify(name, seen, inputs, in_full=in_full, record=record)
        if problem and not self._goes_on(name, seen, problem):
            self._give_up(name, problem, is_wrong=seen.ending == "returned")
            return None
        self._unlaunched += seen.clock is None and not seen.is_late
        if seen.clock is None or self._is_too_short(name, seen):
            return None
        if name == CANDIDATE:
            return self._peers.charge_ns(seen)
        if self._peers.delay_ns(seen) or seen.taking_excess_ns:
            self._held_up += 1
            return None
        return self._peers.time_ns(seen)

    def _is_too_short(self, name: str, seen: Observation) -> bool:
        """Tell if a call has ended by a word that its worker wrote, and is so short that the judge's turn must end it.

        Else a worker could have its first calls take long, and gain the slack of that word in those that count.
        """
        if seen.clock != "gate" or self._ways[name] != "word" or seen.elapsed_ns > _SHORTEST_BY_WORD_NS:
            return False
        if self._is_sampling:
            self._ways[name] = "turn"
            self._forget_samples()
            self._calibrate()
        return self._is_sampling

    def _goes_on(self, name: str, seen: Observation, problem: str) -> bool:
        """Tell if the only problem is that a baseline errs by more than the rule allows: then it is timed on.

        PyTorch may be faster for it, as `torch.compile` is with an erf of its own. Without this baseline the candidate
        could only look better, so no submission gains by making it err.
        """
        if name == CANDIDATE or seen.ending != "returned" or seen.problems or self._is_replaced(name):
            return False
        if name not in {CONTROL, *self._erring}:  # the control is eager once more, and tells how far equals differ
            self._erring.add(name)
            self._warn(ERRING_BASELINE, f"baseline {name} errs, and is compared with all the same: {problem}")
        return True

    def _keep(self, name: str, seen: Observation, *, is_first: bool) -> None:
        """Keep a call: the candidate's for the guards, a trusted contestant's to compare with."""
        self._copied[name] += self._is_sampling and seen.is_copied and seen.looks_scored
        if name == CANDIDATE:
            self._result.seen.append(replace(seen, outputs={}))
        else:
            self._peers.add(seen, is_first=is_first)

    def _verify(self, name: str, seen: Observation, inputs: Inputs, *, in_full: bool, record: bool) -> str | None:
        """Find the problem with an output, or None. Failures of the candidate and `record` calls go into the record."""
        with self._watch.measure("judging"):
            problem = self._problem(name, seen, inputs, in_full=in_full, record=record)
            if problem is None and name == CANDIDATE:
                return self._judge.goes_along(seen, inputs, thorough=in_full)
            return problem

    def _problem(self, name: str, seen: Observation, inputs: Inputs, *, in_full: bool, record: bool) -> str | None:
        limits = self._limits.get((name, seen.case.distribution))
        if not in_full and self._passes_short_cut(name, seen, inputs, limits):
            return None
        is_baseline = name != CANDIDATE and not self._is_replaced(name)
        verdict = self._judge.verdict(seen, inputs, with_digest=record, is_baseline=is_baseline)
        self._limits[name, seen.case.distribution] = verdict.limits
        result = verdict.result
        if name == CANDIDATE and (record or result.status != "passed"):
            self._result.results.append(result)
        return None if result.status == "passed" else result.reason or result.status

    def _passes_short_cut(self, name: str, seen: Observation, inputs: Inputs, limits: Limits | None) -> bool:
        """Tell if a cheap look accepts a call. It can only accept: a doubtful call is judged in full."""
        if name != CANDIDATE:
            return seen.ending == "returned" and not seen.problems
        return limits is not None and self._judge.short_cut(seen, inputs, limits) is None

    def _give_up(self, name: str, problem: str, *, is_wrong: bool = False) -> None:
        """Give up a contestant: the candidate's failure ends the session; a baseline that fails is left out.

        Raises HarnessError where every baseline has failed, or where the device has too little memory through no fault
        of the candidate. `is_wrong`: it came to an end, and its answer is not right.
        """
        if name == CANDIDATE:
            self._result.failure = problem
            return
        worker = self._workers.pop(name, None)
        if self._is_memory_short and worker is not None:
            worker.kill()  # it may be all its own
            if stays_short(case_footprint(self._task, self._case)):
                if self._has_taken_memory():
                    return
                raise HarnessError(f"{self._case}: the device has too little memory for {name}: {problem}")
        self._leave_out(name)
        if not any(c.name not in (CANDIDATE, CONTROL) for c in self._contestants):
            raise HarnessError(f"{self._task.name}: every baseline fails on its own task; the last, {name}: {problem}")
        if name != CONTROL:
            guard = REPLACED_BASELINE if is_wrong and self._is_replaced(name) else LOST_BASELINE
            self._warn(guard, f"baseline {name} is left out: {problem}")

    @property
    def _is_memory_short(self) -> bool:
        """True if the device has too little memory left for a call."""
        return self._device.kind != "cpu" and is_short(case_footprint(self._task, self._case))

    def _has_taken_memory(self) -> bool:
        """Tell if the candidate keeps the device's memory from others; that is its failure. It is dead after that."""
        if CANDIDATE not in self._workers:
            return False
        problem = take_too_much([self._workers[CANDIDATE]], self._largest_call_bytes)
        self._result.failure = self._result.failure or problem
        return bool(problem)

    def _is_replaced(self, name: str) -> bool:
        """Tell if the task names a stand-in for it: for eager PyTorch in halves, where it adds halves as halves."""
        has_stand_in = any(each.name == WIDE for each in self._contestants)
        return name in (EAGER, CONTROL) and self._case.dtype != "float32" and has_stand_in

    def _warn(self, guard: str, message: str) -> None:
        found = Finding(guard=guard, severity="warn", message=message[:500], case=str(self._case))
        self._result.findings.append(found)


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
