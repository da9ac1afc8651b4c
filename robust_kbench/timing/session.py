"""One session: fresh workers of every contestant, called in random order, round by round, from one shared arena.

Every call gets values that are fresh to its worker, at fresh addresses, with caches emptied before it, and every output
is verified: a secret share against float64, the others against PyTorch at the same dtype. Calls of the candidate that
only check (the timed shape under every value distribution, and the spot checks) are mixed in at random, so that no call
tells whether it is timed.
"""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from functools import partial

from robust_kbench.cases.bank import Bank
from robust_kbench.cases.draw import Draw
from robust_kbench.cases.values import Inputs, make_inputs
from robust_kbench.checking.attempt import Attempt
from robust_kbench.contestant import Contestant
from robust_kbench.devices import Device
from robust_kbench.emulation import Mode
from robust_kbench.errors import HarnessError
from robust_kbench.isolation.arena import Arena
from robust_kbench.isolation.calls import Caller, case_footprint
from robust_kbench.isolation.pool import WarmPool
from robust_kbench.languages.built import Built
from robust_kbench.oracle.properties import relate
from robust_kbench.oracle.verdict import Judge, Limits
from robust_kbench.schema.case import Case
from robust_kbench.schema.finding import Finding
from robust_kbench.schema.observation import Observation
from robust_kbench.schema.record import (
    CANDIDATE,
    CONTROL,
    EAGER,
    ERRING_BASELINE,
    LOST_BASELINE,
    REPLACED_BASELINE,
    WIDE,
)
from robust_kbench.schema.task import TIMED_DISTRIBUTIONS, Distribution, Task
from robust_kbench.stopwatch import Stopwatch
from robust_kbench.timing import agreement, spot_checks, statistics
from robust_kbench.timing.peers import Peers, sample_ns
from robust_kbench.timing.plan import HOLD_NS, Plan, holds
from robust_kbench.timing.result import SessionResult
from robust_kbench.timing.workers import Workers

_HEAP_CALLS, _MAX_HEAP_BYTES = 4, 512 << 20
_HOT_CALLS, _HOST_CALLS = 20, 3
_UNEVEN_SHARE = 0.7  # and a fifth of the rest
_DRAWN_FOR = (CANDIDATE, CONTROL)
"""Who gets values of its own in a round. The baselines, sources of ours, share others: drawing costs more than a call.

What equal workers differ by must hold what other values make of a call, as the candidate's ratio does.
"""

_Check = Callable[[], None]


class _Failed(Exception):
    """Somebody gave no right answer in a call that others depend on."""


class TimingSession:
    """Measures one timed case. `run` may be called once."""

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
        arena: Arena,
        watch: Stopwatch,
        timeout_s: float,
        distributions: Sequence[Distribution],
        spots: Sequence[spot_checks.Kind] = (),
        is_first: bool = True,
    ) -> None:
        """`distributions`: those that are checked here, in calls that are not timed; `spots`: what else is.

        `is_first`: the first session of each case also judges what baselines return in their first and last calls,
        and gathers facts for the agreement tests.
        """
        self._is_first = is_first
        self._task, self._case, self._plan, self._judge, self._bank = task, case, plan, judge, bank
        self._contestants = list(contestants)
        self._distributions, self._spots = distributions, spots
        self._timed_distributions = [name for name in TIMED_DISTRIBUTIONS if name in task.distributions]
        self._device, self._watch = device, watch
        self._caller = Caller(
            task, arena,
            device=device.kind, copy_out=device.copies_out, timeout_s=timeout_s, place=device.judging_place,
        )  # fmt: skip
        self._random = random.SystemRandom()
        self._limits: dict[tuple[str, Distribution], Limits] = {}
        self._workers = Workers(pool, device, arena)
        self._peers = Peers()
        self._erring: set[str] = set()
        self._hold = 1
        self._result = SessionResult({contestant.name: [] for contestant in self._contestants})

    def run(self) -> SessionResult:
        """Start workers, warm up, measure. A failure of the candidate ends the session and is told in `failure`."""
        with ExitStack() as stack:
            stack.enter_context(closing(self._workers))
            failures = self._workers.start(self._contestants, self._case.dtype, self._heap_bytes())
            for name, error in failures.items():
                self._give_up(name, str(error))
            stack.enter_context(self._device.pinned())
            stack.enter_context(_no_garbage_collection())
            if CANDIDATE not in self._workers:
                return self._result
            before = self._workers.others_seconds()
            started = time.monotonic()
            self._measure()
            elapsed = time.monotonic() - started
            load = (self._workers.others_seconds() - before) / elapsed if elapsed > 0 else 0.0
            self._result.foreign_load = max(0.0, load - self._device.spare_cores)
        return self._result

    def _heap_bytes(self) -> int:
        """Room for the results of several calls, and for what lies between their inputs and them."""
        if self._device.copies_out:  # they are on the device
            return 0
        return min(_HEAP_CALLS * case_footprint(self._task, self._case), _MAX_HEAP_BYTES)

    def _measure(self) -> None:
        checks: list[_Check] = [
            *(partial(self._check_values, distribution) for distribution in self._distributions),
            *(partial(self._check_spot, kind) for kind in self._spots),
        ]
        self._random.shuffle(checks)
        self._first_calls()
        if self._device.kind == "cuda":
            self._hide_launches()
        self._warm_up(checks)
        disturbance = self._device.watch()
        self._take_samples(checks)
        self._result.disturbance = disturbance()
        if self._device.kind == "cuda" and self._is_first:
            self._look_closer()
        while checks and not self._result.failure:
            checks.pop()()
            self._round([], keep=False)  # beside others, as all before
        for contestant in self._in_random_order():  # nobody behaves only until it was timed
            self._untimed_call(contestant)

    def _first_calls(self) -> None:
        """Each is judged in full. What a first call costs, compiling included, is told and never scored."""
        for contestant in self._in_random_order():
            elapsed_ns = self._untimed_call(contestant)
            if elapsed_ns is not None:
                self._result.first_call_us[contestant.name] = round(elapsed_ns / 1e3, 1)

    def _warm_up(self, checks: list[_Check]) -> None:
        """In the same random alternation as what counts: warming one worker after the other leaves a bias."""
        rounds, started = 0, time.monotonic()
        while not self._result.failure and not self._plan.is_warm(rounds, time.monotonic() - started):
            self._round(checks, keep=False)
            rounds += 1

    def _take_samples(self, checks: list[_Check]) -> None:
        rounds, started = 0, time.monotonic()
        while True:
            self._round(checks, keep=True)
            if self._result.failure:
                return
            rounds += 1
            stop = self._plan.stop(self._result.logs(), rounds, time.monotonic() - started)
            if stop is not None:
                self._result.stop = stop
                return

    def _round(self, checks: list[_Check], *, keep: bool) -> None:
        """One call of everybody, and only then judging: else whoever follows the candidate would follow that, too."""
        distribution = self._some_distribution()
        shared = self._draw(distribution)
        drawn = [
            (contestant, *(self._draw(distribution) if contestant.name in _DRAWN_FOR else shared))
            for contestant in self._in_random_order()
        ]
        calls = [
            (contestant, inputs, self._call(contestant, case, inputs, is_read=self._is_read(contestant)))
            for contestant, case, inputs in drawn
        ]
        for contestant, inputs, seen in calls:
            # Baselines are source of ours: between calls that are judged in full they need only go on answering.
            in_full = contestant.name == CANDIDATE and self._random.random() < self._plan.full_rule_share
            elapsed_ns = self._settle(contestant, inputs, seen, in_full=in_full)
            if elapsed_ns is not None and keep:
                self._result.samples[contestant.name].append(elapsed_ns)
        if not self._result.failure and self._random.random() < self._plan.check_share(len(checks)):
            checks.pop()()

    def _is_read(self, contestant: Contestant) -> bool:
        """Whether its answer is taken out of the worker: the candidate's always, a baseline's where that matters.

        On the cpu device whoever follows a call finds memory as its answer's reader has left it, and the candidate
        never follows itself in a round. While only its answers were read, a kernel of 0.2 ms seemed 0.3 % faster than
        itself; whether that was the cause was not measured.
        """
        return contestant.name == CANDIDATE or not self._device.copies_out

    def _look_closer(self) -> None:
        """What is never scored: hot calls of everybody, and what the agreement tests need. See timing.agreement."""
        timed = [seen for seen in self._result.seen if seen.is_timed]
        trusted = next((each for each in self._contestants if each.name == EAGER), self._contestants[-1])
        candidate = self._candidate
        with suppress(_Failed):
            for contestant in self._in_random_order():
                hot_ns = self._special_call(contestant, hot=_HOT_CALLS).hot_ns
                self._result.hot_us[contestant.name] = round(statistics.median(hot_ns) / 1e3, 3)
            for _ in range(agreement.AUDITS):
                self._result.seen.append(self._peers.beside(self._special_call(candidate, profile=True)))
            self._result.agreement = agreement.gather(
                str(self._case),
                partial(self._special_call, candidate),
                partial(self._special_call, trusted),
                timed,
                self._workers[CANDIDATE].tree,
                self._hold * HOLD_NS,
            )

    def _hide_launches(self) -> None:
        """Have the device held for as long as the slowest host needs to launch, so that nobody is measured by that."""
        longest_ns = 0
        for contestant in self._in_random_order():
            with suppress(_Failed):
                host_ns = min(self._special_call(contestant).host_ns or 0 for _ in range(_HOST_CALLS))
                longest_ns = max(longest_ns, host_ns)
        self._hold = holds(longest_ns)

    def _special_call(self, contestant: Contestant, **more: object) -> Observation:
        """A call that is not timed as others are, judged by the short cut. Raises _Failed when the answer is wrong."""
        case, inputs = self._draw(self._some_distribution())
        seen = self._call(contestant, case, inputs, is_read=contestant.name == CANDIDATE, more=more)
        problem = self._verify(contestant.name, seen, inputs, in_full=False, record=False)
        if problem:
            self._give_up(contestant.name, problem, is_wrong=seen.ending == "returned")
            raise _Failed
        return replace(seen, outputs={})

    def _in_random_order(self) -> Iterator[Contestant]:
        """Those that still have a worker, until the candidate has failed."""
        for contestant in self._random.sample(self._contestants, len(self._contestants)):
            if contestant.name in self._workers and not self._result.failure:
                yield contestant

    def _some_distribution(self) -> Distribution:
        """Uneven values in three quarters of the calls: a look at a sample of the others tells a lot of the rest."""
        if "uneven" in self._timed_distributions and self._random.random() < _UNEVEN_SHARE:
            return "uneven"
        return self._random.choice(self._timed_distributions)

    def _untimed_call(self, contestant: Contestant) -> int | None:
        """Like a timed one, but judged in full; how long it took, None if it failed."""
        case, inputs = self._draw(self._some_distribution())
        in_full = contestant.name == CANDIDATE or self._is_first
        return self._settle(contestant, inputs, self._call(contestant, case, inputs), in_full=in_full)

    def _draw(self, distribution: Distribution) -> tuple[Case, Inputs]:
        """Fresh values for one call."""
        case = self._case.model_copy(update={"seed": self._random.getrandbits(62), "distribution": distribution})
        with self._watch.measure("inputs"):
            return case, self._bank.draw(case)

    def _check_values(self, distribution: Distribution) -> None:
        """Values drawn from a seed that goes into the record, so that the call can be repeated."""
        case = self._case.model_copy(update={"seed": self._random.getrandbits(62), "distribution": distribution})
        with self._watch.measure("inputs"):
            inputs = make_inputs(self._task, case)
        candidate = self._candidate
        self._settle(candidate, inputs, self._call(candidate, case, inputs), in_full=True, record=True)

    def _check_spot(self, kind: spot_checks.Kind) -> None:
        """As checked cases are, with one of the task's properties if it is about those."""
        is_dense = self._candidate.abi == "c"
        case = spot_checks.draw(self._task, self._case, kind, dense=is_dense, source=self._random)
        if case is None:
            return
        attempt = Attempt(self._task, self._candidate, self, self._judge, self._watch, case)
        attempt.run(searches_defects=False)
        if kind == "repeat" and attempt.is_right:
            attempt.repeat()
            self._result.seen += [self._peers.beside(seen) for seen in attempt.seen if seen.repetition is not None]
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
        """One call of the candidate, as an attempt at a case makes them."""
        return self._call(self._candidate, case, inputs)

    @property
    def _candidate(self) -> Contestant:
        return next(each for each in self._contestants if each.name == CANDIDATE)

    def _call(
        self,
        contestant: Contestant,
        case: Case,
        inputs: Inputs,
        *,
        is_read: bool = True,
        more: Mapping[str, object] | None = None,
    ) -> Observation:
        worker = self._workers[contestant.name]
        asked = {"hold": self._hold, **(more or {})} if self._device.kind == "cuda" else more
        seen = self._caller.call(
            worker, contestant.abi, case, inputs,
            sweep=self._device.sweep, evict=self._device.evict, is_read=is_read, more=asked,
        )  # fmt: skip
        self._watch.add("kernels", seen.elapsed_ns / 1e9)
        self._watch.add("inputs", seen.handing_ns / 1e9)
        self._watch.add("judging", seen.draining_ns / 1e9)
        if more is None:
            self._keep(contestant.name, seen)
        return seen

    def _settle(
        self, contestant: Contestant, inputs: Inputs, seen: Observation, *, in_full: bool, record: bool = False
    ) -> int | None:
        """Judge a call. The time that it is charged with, None if it failed."""
        name = contestant.name
        problem = self._verify(name, seen, inputs, in_full=in_full, record=record)
        if problem and not self._goes_on(name, seen, problem):
            self._give_up(name, problem, is_wrong=seen.ending == "returned")
            return None
        return self._peers.charge_ns(seen) if name == CANDIDATE else sample_ns(seen)

    def _goes_on(self, name: str, seen: Observation, problem: str) -> bool:
        """Whether what is wrong is only that a baseline errs by more than the rule allows: then it is timed on.

        PyTorch may be faster for it, as `torch.compile` is with an erf of its own. Without it the candidate could only
        look better, so nobody has a use for making it err.
        """
        if name == CANDIDATE or seen.ending != "returned" or seen.problems or self._is_replaced(name):
            return False
        if name not in {CONTROL, *self._erring}:  # the control is eager once more, and tells how far equals differ
            self._erring.add(name)
            self._warn(ERRING_BASELINE, f"baseline {name} errs, and is compared with all the same: {problem}")
        return True

    def _keep(self, name: str, seen: Observation) -> None:
        """What the guards look at: each call of the candidate, beside the latest of somebody trusted."""
        if name == CANDIDATE:
            self._result.seen.append(self._peers.beside(seen))
        else:
            self._peers.add(seen)

    def _verify(self, name: str, seen: Observation, inputs: Inputs, *, in_full: bool, record: bool) -> str | None:
        """What is wrong with an output, or None. Failures of the candidate and `record` calls go into the record."""
        with self._watch.measure("judging"):
            problem = self._problem(name, seen, inputs, in_full=in_full, record=record)
            if problem is None and name == CANDIDATE:
                return self._judge.goes_along(seen, inputs, thorough=in_full)
            return problem

    def _problem(self, name: str, seen: Observation, inputs: Inputs, *, in_full: bool, record: bool) -> str | None:
        limits = self._limits.get((name, seen.case.distribution))
        if not in_full and self._passes_short_cut(name, seen, inputs, limits):
            return None
        verdict = self._judge.verdict(seen, inputs, with_digest=record)
        self._limits[name, seen.case.distribution] = verdict.limits
        result = verdict.result
        if name == CANDIDATE and (record or result.status != "passed"):
            self._result.results.append(result)
        return None if result.status == "passed" else result.reason or result.status

    def _passes_short_cut(self, name: str, seen: Observation, inputs: Inputs, limits: Limits | None) -> bool:
        """A cheap look that can only accept: what it doubts is judged in full."""
        if name != CANDIDATE:
            return seen.ending == "returned" and not seen.problems
        return limits is not None and self._judge.short_cut(seen, inputs, limits) is None

    def _give_up(self, name: str, problem: str, *, is_wrong: bool = False) -> None:
        """The candidate's failure ends the session; a baseline that fails is left out, but not every one may.

        `is_wrong`: it came to an end, and its answer is not right.
        """
        if name == CANDIDATE:
            self._result.failure = problem
            return
        self._workers.drop(name)
        self._contestants = [c for c in self._contestants if c.name != name]
        self._result.samples.pop(name, None)
        if not any(c.name not in (CANDIDATE, CONTROL) for c in self._contestants):
            raise HarnessError(f"{self._task.name}: every baseline fails on its own task; the last, {name}: {problem}")
        if name != CONTROL:
            guard = REPLACED_BASELINE if is_wrong and self._is_replaced(name) else LOST_BASELINE
            self._warn(guard, f"baseline {name} is left out: {problem}")

    def _is_replaced(self, name: str) -> bool:
        """Whether the task names what stands in for it: for eager PyTorch in halves, where it adds halves as halves."""
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
