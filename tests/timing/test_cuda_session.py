"""A session on a CUDA device: ends of calls, calls that count, and the amount taken off. The workers are made up."""

from __future__ import annotations

import subprocess
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import pytest
import torch
from specimens import load_made_task, make_case

from robust_kbench.cases.bank import Bank
from robust_kbench.cases.values import Inputs, make_inputs
from robust_kbench.devices import machine
from robust_kbench.errors import HarnessError
from robust_kbench.isolation.arena import Arena
from robust_kbench.isolation.gate import Delays
from robust_kbench.oracle.reference import Reference
from robust_kbench.oracle.verdict import Judge
from robust_kbench.schema.observation import Observation, Way
from robust_kbench.schema.record import LOST_BASELINE, decode_samples
from robust_kbench.schema.task import Task
from robust_kbench.stopwatch import Stopwatch
from robust_kbench.timing import session as timing_session
from robust_kbench.timing.arenas import Arenas
from robust_kbench.timing.calibration import EMPTY_KERNEL_NS
from robust_kbench.timing.plan import DEVICE_PLANS, PLANS, Plan
from robust_kbench.timing.result import SessionResult
from robust_kbench.timing.session import TimingSession

US = 1_000
SHORT, LONG = 100 * US, 3_000 * US
"""Times of kernels that end by the judge's turn, and by their own word."""
KERNELS = {"candidate": 80 * US, "eager": SHORT, "control": SHORT}
AROUND_NS: Mapping[Way, int] = {"turn": 290 * US, "word": 293 * US, "wall": 40 * US}
"""Time that the clock shows of a call besides its kernel, if the kernel writes nothing."""
MORE_NS: Mapping[Way, int] = {"turn": 5 * US, "word": 0, "wall": 0}
"""Time that the clock shows on top of that, if the kernel writes."""
HOST_NS, LAUNCH_NS = 30 * US, 2 * US
USUAL_DELAYS_NS = (100 * US, 1_000 * US)
PLAN = Plan(
    sessions=1, min_rounds=10, max_rounds=12, max_seconds=9.0, warm_up_rounds=2, warm_up_seconds=0.0, precision=-1.0
)
ROUNDS = PLAN.max_rounds
IDLE: list[subprocess.Popen[bytes]] = []
HEAPS: list[int] = []
TASK = load_made_task()
CASE = make_case(role="timed")
Phase = Literal["nothing", "before", "sampling", "after"]


class Device:
    """Stand-in for a device, with the parts that a session asks for."""

    kind, copies_out, starts_at_once, spare_cores, judging_place = "cuda", True, 2, 0, "cpu"
    complaint, evict, aside_core = "", None, None
    felt_cores: Collection[int] | None = None
    pinned = nullcontext
    phase: Phase = "before"

    def sweep(self) -> None:
        """Do nothing, as the gate does this."""

    def watch(self) -> Callable[[], str]:
        self.phase = "sampling"
        return self._told

    def _told(self) -> str:
        self.phase = "after"
        return self.complaint


@dataclass
class Worker:
    name: str
    kernel_ns: int
    pid: int
    steps: list[str] = field(default_factory=list)

    def tree(self) -> list[int]:
        return [self.pid]

    log = ""
    is_surely_gone = True

    def open(self, device: str, *, spin: bool, timeout_s: float) -> None:
        self.steps.append("open")

    def kill(self) -> None:
        self.steps.append("kill")

    def close(self) -> None:
        """Close nothing, as there is nothing that runs."""


@dataclass(frozen=True)
class Contestant:
    name: str
    kernel_ns: int
    abi: str = "value"

    def warm_up(self, *_: Any) -> None:
        """Start nothing, as there is nothing to start."""

    def open(self, *_: Any) -> Worker:
        IDLE.append(subprocess.Popen(["sleep", "60"]))
        return Worker(self.name, self.kernel_ns, IDLE[-1].pid)

    def collect(self, *_: Any) -> None:
        """Collect nothing, as it compiles nothing."""

    def load(self, worker: Worker, *_: Any, heap_bytes: int, **__: Any) -> None:
        HEAPS.append(heap_bytes)
        worker.steps.append("load")


@dataclass(frozen=True)
class Asked:
    """A call: its contestant, its part of the session, and its way. `number` counts a contestant's sampled calls."""

    name: str
    phase: Phase
    way: Way
    is_empty: bool = False
    with_events: bool = False
    number: int = 0
    has_tensors: bool = True

    @property
    def is_trusted(self) -> bool:
        """True if the call is no sample, and is believed."""
        return self.is_empty or self.with_events


Tamper = Callable[[Asked, Observation], Observation]


@dataclass
class Caller:
    """Caller that answers as honest workers would; `tamper` changes the observations."""

    tamper: Tamper = lambda asked, seen: seen
    device: Device = field(default_factory=Device)
    asked: list[Asked] = field(default_factory=list)
    given: list[tuple[str, Inputs]] = field(default_factory=list)
    idle_ns: tuple[int, int] = USUAL_DELAYS_NS
    constants_ns: Mapping[str, int] = field(default_factory=dict)
    """Constants in ns of workers whose context is not like that of others."""
    workers: dict[str, Worker] = field(default_factory=dict)

    def usual_delays(self, *_: Any) -> Delays:
        return Delays(*self.idle_ns)

    def call_nothing(self, worker: Worker, case: Any, *, with_events: bool = False) -> Observation:
        worker.steps.append("events" if with_events else "nothing")
        self.workers[worker.name] = worker
        elapsed_ns = AROUND_NS["turn"] + EMPTY_KERNEL_NS + self.constants_ns.get(worker.name, 0)
        event_ns = EMPTY_KERNEL_NS + LAUNCH_NS if with_events else None
        seen = Observation(
            case, "returned", elapsed_ns=elapsed_ns, clock="gate", delays_ns=self.idle_ns, event_ns=event_ns
        )
        phase = self.device.phase if "load" in worker.steps else "nothing"
        return self.tamper(Asked(worker.name, phase, "turn", is_empty=True, has_tensors=False), seen)

    def call(
        self, worker: Worker, abi: str, case: Any, inputs: Any, *,
        way: Way = "word", is_empty: bool = False, with_events: bool = False,
    ) -> Observation:  # fmt: skip
        number = sum(each.name == worker.name and not each.is_trusted for each in self.sampled())
        asked = Asked(worker.name, self.device.phase, way, is_empty, with_events, number)
        self.asked.append(asked)
        self.given.append((worker.name, inputs))
        kernel_ns = EMPTY_KERNEL_NS if is_empty else worker.kernel_ns
        written_ns = 0 if is_empty else MORE_NS[way]
        host_ns = HOST_NS if way == "wall" and not is_empty else 0
        seen = Observation(
            case, "returned",
            outputs={} if is_empty else {"y": inputs.tensors["x"] * inputs.tensors["weight"]},
            elapsed_ns=AROUND_NS[way] + written_ns + host_ns + kernel_ns + self.constants_ns.get(worker.name, 0),
            clock="wall" if way == "wall" else "gate",
            delays_ns=USUAL_DELAYS_NS,
            event_ns=kernel_ns + LAUNCH_NS if with_events else None,
        )  # fmt: skip
        return self.tamper(asked, seen)

    def sampled(self) -> list[Asked]:
        """List the calls of rounds that may count, and the calls between them."""
        return [each for each in self.asked if each.phase == "sampling"]

    def ways(self, phase: Phase = "sampling") -> dict[str, list[Way]]:
        """Return the ways in which calls of each contestant, without calibrations, have ended, in order."""
        found: dict[str, list[Way]] = defaultdict(list)
        for each in self.asked:
            if each.phase == phase and not each.is_trusted:
                found[each.name].append(each.way)
        return found


@pytest.fixture(autouse=True)
def _much_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing_session, "is_short", lambda call_bytes: False)
    monkeypatch.setattr(timing_session, "_SETTLING_S", 0.0)


def run(
    caller: Caller,
    kernels: Mapping[str, int] = KERNELS,
    plan: Plan = PLAN,
    *,
    threads: ThreadPoolExecutor | None = None,
    sessions: int = 1,
    **changes: Any,
) -> SessionResult:
    """Run sessions with the same workers; return the last of `sessions`, whose checks are drawn ahead by `threads`."""
    contestants: Any = [Contestant(name, kernel_ns) for name, kernel_ns in kernels.items()]
    parts: Any = {"pool": None, "device": caller.device}
    arena = Arena(1 << 20)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timing_session, "open_caller", lambda *_, **__: caller)
        made = [
            TimingSession(
                TASK.spec, CASE, contestants, plan,
                judge=Judge(TASK.spec, Reference(TASK)), bank=Bank(TASK.spec, CASE),
                arenas=Arenas(arena), watch=Stopwatch(),
                timeout_s=1.0, **parts, **{"distributions": (), **changes},
            )
            for _ in range(sessions)
        ]  # fmt: skip
    try:
        if threads is not None:
            made[0].draw_ahead(threads)
        if sessions == 1:
            return made[0].run()
        made[0].look_at_the_idle_device()
        with closing(made[0].start()) as workers:
            return [session.run(workers) for session in made][-1]
    finally:
        arena.close()
        for process in IDLE:
            process.kill()
            process.wait()
        IDLE.clear()


def ended(ways: dict[str, Way]) -> SessionResult:
    """Return an earlier session in which calls have ended like this."""
    return SessionResult({}, ways=ways)


def scored(result: SessionResult) -> dict[str, set[int]]:
    """Return the different times that a record has of each contestant."""
    session = result.as_record(0)
    return {name: set(decode_samples(samples)) for name, samples in session.samples.items()}


def counts(result: SessionResult) -> set[int]:
    """Return the numbers of samples of contestants: one number, if rounds count as a whole."""
    return {len(samples) for samples in result.samples.values()}


# --- the clock drifts ------------------------------------------------------------------------------------------------


def drifting(caller: Caller, more_ns: int, *phases: Phase, every: int = 1, stays: bool = False) -> Tamper:
    """Make trusted calls longer by `more_ns` until the candidate is killed, or for good; or one look in `every`."""
    seen_so_far = 0

    def tamper(asked: Asked, seen: Observation) -> Observation:
        nonlocal seen_so_far
        if asked.name == "candidate" or asked.phase not in phases:
            return seen
        if "kill" in caller.workers["candidate"].steps and not stays:
            return seen
        seen_so_far += not asked.has_tensors
        is_due = every == 1 or (not asked.has_tensors and seen_so_far % every == 0)
        return replace(seen, elapsed_ns=seen.elapsed_ns + more_ns * is_due)

    return tamper


@pytest.mark.parametrize("phases", [("before", "sampling", "after"), ("before", "after"), ("sampling", "after")])
def test_a_candidate_beside_which_empty_calls_take_longer_has_failed(phases: tuple[Phase, ...]) -> None:
    caller = Caller()
    caller.tamper = drifting(caller, 7 * US, *phases)
    result = run(caller)
    assert result.failure.startswith("leaves work on the device between its calls")
    assert "one in four 7.0 us" in result.failure
    assert not result.has_unsteady_clock
    assert caller.workers["candidate"].steps[-1] == "kill"


def test_a_drift_that_devices_show_by_themselves_is_not_blamed_on_anybody_at_once() -> None:
    caller = Caller()
    caller.tamper = drifting(caller, 4 * US, "before", "sampling", "after")
    result = run(caller)
    assert (result.failure, result.has_unsteady_clock, result.is_steady_alone) == ("", True, True)


def test_copies_that_come_and_go_are_found_by_a_quarter_of_the_calls() -> None:
    caller = Caller()
    caller.tamper = drifting(caller, 7 * US, "before", "sampling", "after", every=3)
    assert run(caller).failure.startswith("leaves work on the device between its calls")


def test_a_clock_that_stays_changed_without_the_candidate_is_nobodys_fault() -> None:
    caller = Caller()
    caller.tamper = drifting(caller, 7 * US, "before", "sampling", "after", stays=True)
    result = run(caller)
    assert (result.failure, counts(result)) == ("", {ROUNDS})
    assert result.disturbance == (
        "the device's clock has changed: "
        "empty calls take 7.0 us longer than without a candidate, and one in four 7.0 us"
    )
    assert not result.is_steady_alone


def test_what_calls_take_longer_without_the_candidate_too_is_no_drift_if_it_is_little() -> None:
    caller = Caller()
    caller.tamper = drifting(caller, 2 * US, "before", "sampling", "after", stays=True)
    result = run(caller)
    assert (result.failure, result.disturbance, counts(result)) == ("", "", {ROUNDS})
    assert scored(result)["candidate"] == {KERNELS["candidate"] - 2 * US}  # which all calls of baselines had, too


def test_what_only_loaded_baselines_cause_is_not_the_candidates() -> None:
    """A look behind a kernel of a baseline takes longer, by the clocks of a device that works."""
    behind_kernel = False

    def tamper(asked: Asked, seen: Observation) -> Observation:
        nonlocal behind_kernel
        if asked.has_tensors:
            behind_kernel = not asked.is_empty and asked.name != "candidate"
            return seen
        return replace(seen, elapsed_ns=seen.elapsed_ns + 2_700 * behind_kernel)

    result = run(Caller(tamper), plan=replace(PLAN, min_rounds=40, max_rounds=40))
    assert (result.failure, result.disturbance) == ("", "")


@pytest.mark.parametrize("is_long_before", [True, False])
def test_copies_in_half_of_the_rounds_are_found_whatever_the_candidate_has_calibrated_anew(
    is_long_before: bool,
) -> None:
    """A candidate that is long until samples count has the clock calibrated once more, and leaves nothing behind."""
    own = looks = 0

    def tamper(asked: Asked, seen: Observation) -> Observation:
        nonlocal own, looks
        if asked.name == "candidate" and asked.has_tensors:
            own += asked.phase == "sampling"
            return replace(seen, elapsed_ns=seen.elapsed_ns + LONG * (is_long_before and asked.phase == "before"))
        is_look = not asked.has_tensors and asked.phase == "sampling" and own > 1
        looks += is_look
        return replace(seen, elapsed_ns=seen.elapsed_ns + 20 * US * (is_look and looks % 2 == 0))

    result = run(Caller(tamper), plan=replace(PLAN, min_rounds=10, max_rounds=10))
    assert result.has_unsteady_clock
    assert result.is_steady_alone


def test_a_baseline_that_others_keep_from_being_looked_at_has_no_sample() -> None:
    """Its watched pieces wait for a copy engine; the candidate is charged for that, and no other contestant gains."""
    caller = Caller(changed("eager", 3, taking_excess_ns=900 * US))
    result = run(caller, dict.fromkeys(KERNELS, LONG))
    assert scored(result)["eager"] == {LONG}
    caller = Caller(changed("candidate", *range(99), taking_excess_ns=900 * US))
    assert scored(run(caller, dict.fromkeys(KERNELS, LONG)))["candidate"] == {LONG + 900 * US}


def test_a_candidate_is_not_blamed_for_copies_that_go_on_without_it() -> None:
    def always(asked: Asked, seen: Observation) -> Observation:
        return replace(seen, taking_excess_ns=900 * US * (asked.name == "eager" and asked.phase == "sampling"))

    with pytest.raises(HarnessError, match="none of 24 rounds counts: others had the device before 24 calls"):
        run(Caller(always), dict.fromkeys(KERNELS, LONG))


def test_an_empty_call_that_has_become_far_shorter_speaks_of_a_clock_that_was_disturbed_before() -> None:
    caller = Caller()
    caller.tamper = drifting(caller, -7 * US, "before", "sampling")
    assert run(caller).has_unsteady_clock


def test_a_session_ends_where_the_candidates_calls_take_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing_session, "_LONGEST_S", -1.0)
    assert run(Caller()).failure == "its calls took 0 minutes in a single session"


@pytest.mark.parametrize(("drift_ns", "charge_ns"), [(0, 0), (400, 0), (800, 800), (1_400, 1_400)])
def test_a_candidate_is_charged_with_the_little_that_the_clock_has_drifted(drift_ns: int, charge_ns: int) -> None:
    caller = Caller()
    caller.tamper = drifting(caller, drift_ns, "before", "sampling", "after")
    result = run(caller)
    assert (result.failure, result.disturbance) == ("", "")
    # What the clock takes off everybody has grown by the drift, which was not in the candidate's calls.
    assert scored(result) == {
        "candidate": {KERNELS["candidate"] - drift_ns + charge_ns}, "eager": {SHORT}, "control": {SHORT}
    }  # fmt: skip
    assert result.as_record(0).clock_spread_ns == drift_ns


def test_empty_calls_lie_between_those_of_each_round_that_may_count() -> None:
    caller, places = Caller(), set()

    def note(asked: Asked, seen: Observation) -> Observation:
        if not asked.has_tensors and asked.phase == "sampling":
            places.add(caller.asked[-1].name)
        return seen

    caller.tamper = note
    run(caller, plan=replace(PLAN, min_rounds=40, max_rounds=40))
    assert places >= set(KERNELS)


def test_a_clock_that_others_keep_from_being_looked_at_is_told() -> None:
    def hold_up(asked: Asked, seen: Observation) -> Observation:
        is_due = not asked.has_tensors and asked.phase in ("before", "sampling", "after")
        return replace(seen, delays_ns=(USUAL_DELAYS_NS[0] + 5_000 * US, 0)) if is_due else seen

    result = run(Caller(hold_up))
    assert "others have the device before" in result.disturbance
    assert result.has_unsteady_clock


def test_copies_that_end_before_they_can_be_confirmed_are_nobodys_fault_but_no_sample_counts() -> None:
    looks = 0

    def sometimes(asked: Asked, seen: Observation) -> Observation:
        nonlocal looks
        looks += not asked.has_tensors and asked.phase == "sampling"
        return replace(seen, elapsed_ns=seen.elapsed_ns + 7 * US) if 0 < looks <= ROUNDS else seen

    result = run(Caller(sometimes))
    assert (result.failure, result.has_unsteady_clock) == ("", True)


# --- how calls end ----------------------------------------------------------------------------------------------------


def test_short_calls_end_by_the_judges_turn() -> None:
    caller = Caller()
    result = run(caller)
    assert (result.failure, result.clock, counts(result)) == ("", "gate", {ROUNDS})
    assert caller.ways() == dict.fromkeys(KERNELS, ["turn"] * ROUNDS)


def test_long_calls_end_by_their_word() -> None:
    caller = Caller()
    result = run(caller, dict.fromkeys(KERNELS, LONG))
    assert (result.clock, counts(result)) == ("gate", {ROUNDS})
    assert caller.ways() == dict.fromkeys(KERNELS, ["word"] * ROUNDS)


def test_everybodys_calls_end_in_their_own_way() -> None:
    caller = Caller()
    result = run(caller, {**KERNELS, "eager": LONG})
    assert caller.ways()["eager"] == ["word"] * ROUNDS
    assert caller.ways()["candidate"] == ["turn"] * ROUNDS
    assert result.ways == {"candidate": "turn", "eager": "word", "control": "turn"}


def test_before_anybody_knows_how_long_they_take_calls_end_by_their_word() -> None:
    caller = Caller()
    run(caller)
    before = caller.ways("before")
    assert before == dict.fromkeys(KERNELS, ["word"] * (1 + 3) + ["turn"] * PLAN.warm_up_rounds)


def test_a_single_slow_call_does_not_make_a_kernel_a_long_one() -> None:
    def slow_at_first(asked: Asked, seen: Observation) -> Observation:
        first = len([each for each in caller.asked if each.name == asked.name]) <= 3
        return replace(seen, elapsed_ns=seen.elapsed_ns + LONG * first)

    caller = Caller(slow_at_first)
    assert counts(run(caller)) == {ROUNDS}
    assert caller.ways() == dict.fromkeys(KERNELS, ["turn"] * ROUNDS)


def test_who_is_long_only_until_it_counts_ends_by_turn_and_has_no_sample_by_word() -> None:
    def long_until_it_counts(asked: Asked, seen: Observation) -> Observation:
        is_long = asked.name == "candidate" and asked.phase == "before"
        return replace(seen, elapsed_ns=seen.elapsed_ns + LONG * is_long)

    caller = Caller(long_until_it_counts)
    result = run(caller)
    assert caller.ways("before")["candidate"][-1] == "word"
    assert caller.ways()["candidate"] == ["word", *["turn"] * ROUNDS]
    assert counts(result) == {ROUNDS}
    assert scored(result)["candidate"] == {80 * US}


# --- the wall clock ---------------------------------------------------------------------------------------------------


def waiting(name: str, *numbers: int) -> Tamper:
    """Keep the host of `name` from coming back without the device; `numbers`: only in these calls that may count."""

    def tamper(asked: Asked, seen: Observation) -> Observation:
        is_due = asked.name == name and (asked.phase == "sampling" and asked.number in numbers if numbers else True)
        return replace(seen, clock=None) if is_due and asked.way != "wall" else seen

    return tamper


@pytest.mark.parametrize("name", ["candidate", "eager", "control"])
def test_one_whose_host_never_comes_back_puts_everybody_on_the_wall_clock(name: str) -> None:
    caller = Caller(waiting(name))
    result = run(caller)
    assert (result.failure, result.clock, counts(result)) == ("", "wall", {ROUNDS})
    assert caller.ways() == dict.fromkeys(KERNELS, ["wall"] * ROUNDS)


def test_on_the_wall_clock_launches_count_for_everybody_and_an_empty_call_is_taken_off() -> None:
    result = run(Caller(waiting("candidate")))
    assert scored(result) == {name: {kernel_ns + HOST_NS} for name, kernel_ns in KERNELS.items()}


def test_random_tasks_are_timed_on_the_wall_clock_from_the_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Task, "is_random", property(lambda task: True))
    caller = Caller()
    result = run(caller)
    assert (result.clock, set(result.ways.values())) == ("wall", {"wall"})
    assert caller.ways("before") == dict.fromkeys(KERNELS, ["word", *["wall"] * PLAN.warm_up_rounds])


def test_a_host_that_waits_again_and_again_puts_everybody_on_the_wall_clock_and_all_starts_anew() -> None:
    caller = Caller(waiting("candidate", *range(2, ROUNDS)))
    result = run(caller)
    assert (result.failure, result.clock, counts(result)) == ("", "wall", {ROUNDS})
    assert caller.ways()["eager"] == ["turn"] * (2 + 4) + ["wall"] * ROUNDS
    assert scored(result)["eager"] == {SHORT + HOST_NS}


def test_rounds_in_which_a_host_waits_now_and_then_are_made_up_for() -> None:
    caller = Caller(waiting("candidate", 2, 5))
    result = run(caller)
    assert (result.clock, counts(result)) == ("gate", {ROUNDS})
    assert len(caller.ways()["candidate"]) == ROUNDS + 2


# --- which rounds count -----------------------------------------------------------------------------------------------


def changed(name: str, *numbers: int, **changes: Any) -> Tamper:
    """Change the observations of the given calls of `name` that may count."""

    def tamper(asked: Asked, seen: Observation) -> Observation:
        is_due = asked.name == name and asked.phase == "sampling" and asked.number in numbers and not asked.is_trusted
        return replace(seen, **changes) if is_due else seen

    return tamper


HELD_UP: dict[str, Any] = {"delays_ns": (USUAL_DELAYS_NS[0] + 330 * US, USUAL_DELAYS_NS[1])}
LATE = {"clock": None, "is_late": True}


@pytest.mark.parametrize(("name", "changes"), [("candidate", LATE), ("eager", HELD_UP), ("control", HELD_UP)])
def test_a_round_in_which_somebody_has_no_sample_counts_for_nobody(name: str, changes: dict[str, Any]) -> None:
    def tamper(asked: Asked, seen: Observation) -> Observation:
        marked = replace(seen, elapsed_ns=seen.elapsed_ns + asked.number) if asked.phase == "sampling" else seen
        return changed(name, 3, **changes)(asked, marked)

    result = run(Caller(tamper))
    for samples in result.samples.values():
        assert [sample - samples[0] for sample in samples] == [n for n in range(ROUNDS + 1) if n != 3]


def test_calls_that_outlast_the_judges_turn_put_nobody_on_the_wall_clock() -> None:
    result = run(Caller(changed("candidate", *range(0, ROUNDS, 2), **LATE)))
    assert (result.clock, counts(result)) == ("gate", {ROUNDS})
    assert sum(seen.is_late for seen in result.seen) == ROUNDS // 2


def test_a_candidate_whose_outputs_are_never_complete_in_time_has_failed() -> None:
    result = run(Caller(changed("candidate", *range(2 * ROUNDS), **LATE)))
    assert result.failure == "its outputs change after the end of the call, time and again"


def test_a_candidate_is_not_blamed_for_one_late_call_among_those_that_others_held_up() -> None:
    def tamper(asked: Asked, seen: Observation) -> Observation:
        return changed("candidate", 3, **LATE)(asked, held_up_by_others(asked, seen))

    with pytest.raises(HarnessError, match="others had the device"):
        run(Caller(tamper))


def held_up_by_others(asked: Asked, seen: Observation) -> Observation:
    """Delay each call of eager's while samples are taken: another process has the device before it, in any company."""
    return replace(seen, **HELD_UP) if asked.name == "eager" and asked.phase == "sampling" else seen


def test_a_session_in_which_others_held_up_every_round_is_nobodys_measurement() -> None:
    count = 2 * ROUNDS
    words = f"none of {count} rounds counts: others had the device before {count} calls of baselines"
    caller = Caller(held_up_by_others)
    with pytest.raises(HarnessError, match=words):
        run(caller)
    assert caller.workers["candidate"].steps[-1] == "kill"


def test_a_candidate_without_which_nobody_is_held_up_has_failed() -> None:
    caller = Caller()

    def tamper(asked: Asked, seen: Observation) -> Observation:
        is_gone = "candidate" in caller.workers and caller.workers["candidate"].steps[-1] == "kill"
        return seen if is_gone else held_up_by_others(asked, seen)

    caller.tamper = tamper
    assert run(caller).failure == "keeps the device busy between its calls, so that nobody else can be timed"


@pytest.mark.parametrize(("held_up", "is_disturbed"), [(4, False), (5, True)])
def test_many_calls_of_baselines_that_others_held_up_are_a_disturbance(held_up: int, is_disturbed: bool) -> None:
    result = run(Caller(changed("eager", *range(held_up), **HELD_UP)))
    assert counts(result) == {ROUNDS}
    assert result.disturbance == "others had the device before 5 calls of baselines" * is_disturbed
    assert result.clock == "gate"


def test_a_candidate_that_holds_up_the_judges_work_is_charged_with_it() -> None:
    result = run(Caller(changed("candidate", *range(ROUNDS), **HELD_UP)))
    assert (result.disturbance, counts(result)) == ("", {ROUNDS})
    assert scored(result)["candidate"] == {(80 + 330 - 30) * US}


def hogged(asked: Asked, seen: Observation) -> Observation:
    """Delay each call in which anything of a submission can run: another process has the device before it."""
    return seen if asked.phase == "nothing" else replace(seen, delays_ns=(100 * US + 330 * US, 3_000 * US))


def test_who_is_at_the_device_before_every_call_does_not_make_that_usual() -> None:
    with pytest.raises(HarnessError, match="others have the device, so that its clock cannot be calibrated"):
        run(Caller(hogged))


def test_a_change_of_contexts_before_every_call_is_usual() -> None:
    idle_ns = tuple(delay_ns - 150 * US for delay_ns in (1_000 * US, 2_000 * US))
    caller = Caller(lambda asked, seen: replace(seen, delays_ns=(1_000 * US, 2_000 * US)))
    caller.idle_ns = (idle_ns[0], idle_ns[1])
    assert counts(run(caller)) == {ROUNDS}


def test_what_a_call_took_whose_results_were_not_known_beforehand_is_not_what_others_take() -> None:
    def tamper(asked: Asked, seen: Observation) -> Observation:
        is_first = asked.name == "eager" and asked.phase == "before" and not asked.is_trusted and asked not in met
        met.append(asked)
        return replace(seen, clock=None, delays_ns=(20 * US, 100 * US)) if is_first else seen

    met: list[Asked] = []
    assert counts(run(Caller(tamper))) == {ROUNDS}


def test_three_rounds_of_empty_calls_are_tried_before_the_clock_is_given_up() -> None:
    def tamper(asked: Asked, seen: Observation) -> Observation:
        is_due = asked.is_empty and asked.has_tensors
        tried.append(asked) if is_due else None
        is_bad = is_due and len(tried) <= bad
        return replace(seen, **HELD_UP) if is_bad else seen

    tried: list[Asked] = []
    bad = 14
    assert counts(run(Caller(tamper))) == {ROUNDS}
    tried.clear()
    bad = 21  # and none when the candidate is gone
    assert run(Caller(tamper)).failure == "keeps the device busy between its calls, so that nobody else can be timed"
    tried.clear()
    bad = 42
    with pytest.raises(HarnessError, match="cannot be calibrated"):
        run(Caller(tamper))


@pytest.mark.parametrize(
    ("name", "numbers", "guards"),
    [
        ("eager", range(ROUNDS), ["baselines"]),
        ("candidate", range(ROUNDS), ["copies"]),
        ("eager", range(1), []),
        ("nobody", range(ROUNDS), []),
    ],
)
def test_it_is_told_whose_results_were_copied_on_the_clock(name: str, numbers: range, guards: list[str]) -> None:
    result = run(Caller(changed(name, *numbers, is_copied=True)))
    assert [finding.guard for finding in result.findings] == guards
    assert all("were copied in its time" in finding.message for finding in result.findings)
    assert counts(result) == {ROUNDS}


# --- memory -----------------------------------------------------------------------------------------------------------


OUT_OF_MEMORY = "raised OutOfMemoryError: CUDA out of memory. Tried to allocate 16.00 MiB"


def without_memory(asked: Asked, seen: Observation) -> Observation:
    """Let eager find no memory from the fourth round on."""
    is_late = asked.name == "eager" and asked.phase == "sampling" and asked.number >= 3 and not asked.is_trusted
    return replace(seen, ending="raised", message=OUT_OF_MEMORY, outputs={}) if is_late else seen


def judged_out_of_memory(asked: Asked, seen: Observation) -> Observation:
    """Let the judge find no memory in the fourth round."""
    if asked.name == "eager" and asked.phase == "sampling" and asked.number == 3:
        raise torch.OutOfMemoryError(OUT_OF_MEMORY)
    return seen


@dataclass
class Memory:
    """Memory of a device. `holders`: names of the workers whose end gives it back."""

    monkeypatch: pytest.MonkeyPatch
    caller: Caller
    holders: Collection[str]

    def __post_init__(self) -> None:
        self.monkeypatch.setattr(timing_session, "is_short", self.is_short)
        self.monkeypatch.setattr(timing_session, "stays_short", self.is_short)
        self.monkeypatch.setattr(timing_session, "take_too_much", self.take_too_much)

    def is_short(self, call_bytes: int) -> bool:
        ended = {name for name, worker in self.caller.workers.items() if worker.steps[-1] == "kill"}
        return not ended & set(self.holders)

    def take_too_much(self, workers: Any, call_bytes: int) -> str:
        (worker,) = workers
        worker.kill()
        return f"{worker.name} held it all" if worker.name in self.holders else ""


def test_what_a_candidate_may_keep_is_counted_for_the_largest_call_of_its_workers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    caller, counted = Caller(judged_out_of_memory), list[int]()
    memory = Memory(monkeypatch, caller, {"candidate"})

    def take_too_much(workers: Any, call_bytes: int) -> str:
        counted.append(call_bytes)
        return memory.take_too_much(workers, call_bytes)

    monkeypatch.setattr(timing_session, "take_too_much", take_too_much)
    run(caller, largest_call_bytes=1 << 30)
    assert counted == [1 << 30]


@pytest.mark.parametrize("tamper", [without_memory, judged_out_of_memory])
def test_a_candidate_that_leaves_others_no_memory_has_failed(monkeypatch: pytest.MonkeyPatch, tamper: Tamper) -> None:
    caller = Caller(tamper)
    Memory(monkeypatch, caller, {"candidate"})
    assert run(caller).failure == "candidate held it all"


def test_a_baseline_that_takes_all_memory_itself_is_left_out_and_the_candidate_lives(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    caller = Caller(without_memory)
    Memory(monkeypatch, caller, {"eager"})
    result = run(caller, {**KERNELS, "compile": SHORT})
    assert result.failure == ""
    assert "kill" not in caller.workers["candidate"].steps
    assert [finding.guard for finding in result.findings] == [LOST_BASELINE]


def test_a_device_with_too_little_memory_is_not_the_candidates_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    for tamper, error in ((judged_out_of_memory, torch.OutOfMemoryError), (without_memory, HarnessError)):
        caller = Caller(tamper)
        Memory(monkeypatch, caller, set())
        with pytest.raises(error):
            run(caller)


def test_an_error_of_pytorchs_with_memory_to_spare_is_our_own_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    caller = Caller(judged_out_of_memory)
    monkeypatch.setattr(timing_session, "is_short", lambda call_bytes: False)
    with pytest.raises(torch.OutOfMemoryError):
        run(caller)
    assert "kill" not in caller.workers["candidate"].steps


# --- calibration ------------------------------------------------------------------------------------------------------


def test_every_worker_is_measured_before_it_loads_anything() -> None:
    caller = Caller()
    run(caller)
    for worker in caller.workers.values():
        assert worker.steps[0] == "open"
        assert worker.steps[: worker.steps.index("load")].count("nothing") == 14


@pytest.mark.parametrize("name", ["candidate", "eager"])
def test_what_calls_of_nothing_take_longer_in_one_worker_is_taken_off_there(name: str) -> None:
    assert scored(run(Caller(constants_ns={name: 2 * US})))["candidate"] == scored(run(Caller()))["candidate"]
    assert scored(run(Caller(constants_ns={name: 2 * US})))["eager"] == scored(run(Caller()))["eager"]


@pytest.mark.parametrize("eager_ns", [SHORT, LONG], ids=["trusted by turn", "trusted by word"])
@pytest.mark.parametrize("candidate_ns", [80 * US, 2 * LONG], ids=["candidate by turn", "candidate by word"])
def test_a_record_has_the_times_of_kernels_in_whatever_way_their_calls_end(candidate_ns: int, eager_ns: int) -> None:
    found = scored(run(Caller(), {**KERNELS, "candidate": candidate_ns, "eager": eager_ns}))
    assert found["eager"] == {eager_ns}
    ((told_ns,),) = [found["candidate"]]
    # What its writes cost beyond an empty call is known only from calls that end alike.
    assert told_ns - candidate_ns == (5 * US if (candidate_ns, eager_ns) == (80 * US, LONG) else 0)


def test_a_call_with_events_is_in_each_round_and_calibrates_those_that_count() -> None:
    caller = Caller(waiting("candidate", 2, 5))
    told = run(caller).calibration
    assert told is not None
    assert len(told.events) == len(told.around_events) == ROUNDS
    calls = [each for each in caller.sampled() if each.with_events]
    assert len(calls) == ROUNDS + 2
    assert {(each.name, each.way, each.is_empty) for each in calls} == {("eager", "turn", False)}


def test_how_far_calls_on_equal_terms_lie_apart_goes_into_the_record() -> None:
    calls = 0

    def uneven(asked: Asked, seen: Observation) -> Observation:
        nonlocal calls
        calls += asked.with_events
        return replace(seen, elapsed_ns=seen.elapsed_ns + calls % 3 * 100 * asked.with_events)

    assert run(Caller(uneven)).as_record(0).clock_spread_ns == 100
    assert run(Caller(waiting("eager"))).as_record(0).clock_spread_ns is None


@pytest.mark.parametrize(
    ("reference_us", "is_dropping", "is_timed"), [(140, True, False), (110, True, True), (140, False, True)]
)
def test_a_reference_that_is_clearly_slower_than_the_operator_is_called_no_longer_at_tier_quick(
    reference_us: int, is_dropping: bool, is_timed: bool
) -> None:
    """The kernels' times decide: with the clock's constant 140 us are no quarter more than 100."""
    caller, kernels = Caller(), {"candidate": 80 * US, "eager": SHORT, "reference": reference_us * US}
    result = run(caller, kernels, replace(PLAN, spares_reference=is_dropping))
    assert set(caller.ways()) == {"candidate", "eager", *(["reference"] if is_timed else [])}
    assert "reference" in caller.ways("before")
    assert set(result.samples) == set(caller.ways())
    assert (result.failure, result.findings, counts(result)) == ("", [], {ROUNDS})


def test_only_tier_quick_drops_a_reference() -> None:
    assert {tier for tier, plan in PLANS.items() if plan.spares_reference} == {"quick"}
    assert not any(plan.spares_reference for plan in DEVICE_PLANS.values())


@pytest.mark.parametrize("tamper", [Caller().tamper, waiting("candidate")], ids=["gate", "wall"])
def test_the_clock_is_never_calibrated_with_the_candidate(tamper: Tamper) -> None:
    caller = Caller(tamper)
    run(caller)
    assert {each.name for each in caller.asked if each.is_trusted} == {"eager"}


def test_where_eager_is_lost_another_baseline_calibrates_the_clock() -> None:
    def lose(asked: Asked, seen: Observation) -> Observation:
        is_lost = asked.name == "eager" and asked.phase == "sampling" and asked.number == 9 and not asked.is_trusted
        return replace(seen, ending="crashed", outputs={}) if is_lost else seen

    caller = Caller(lose)
    kernels = {"candidate": 80 * US, "eager": SHORT, "functional": 120 * US}
    result = run(caller, kernels)
    assert (result.failure, result.trusted) == ("", "functional")
    assert [finding.guard for finding in result.findings] == [LOST_BASELINE]
    assert scored(result) == {"candidate": {80 * US}, "functional": {120 * US}}


def test_a_calibration_without_an_answer_is_our_own_failure() -> None:
    def crash(asked: Asked, seen: Observation) -> Observation:
        return replace(seen, ending="crashed", message="oh") if asked.is_empty else seen

    with pytest.raises(HarnessError, match="a call of eager that calibrates the clock gave no answer: oh"):
        run(Caller(crash))


def test_how_calls_have_ended_before_is_not_tried_again() -> None:
    known: dict[str, Way] = {"candidate": "word", "eager": "turn", "control": "turn"}
    first, again = Caller(), Caller()
    kernels = {**KERNELS, "candidate": LONG}
    assert run(first, kernels).ways == run(again, kernels, former=ended(known)).ways == known
    before = [
        [asked for asked in each.asked if asked.phase == "before" and not asked.is_trusted] for each in (first, again)
    ]
    spared = Counter(asked.name for asked in before[0]) - Counter(asked.name for asked in before[1])
    assert spared == dict.fromkeys(KERNELS, 3)


def test_the_wall_clock_is_not_kept_to_for_what_happened_in_an_earlier_session() -> None:
    assert set(run(Caller(), former=ended(dict.fromkeys(KERNELS, "wall"))).ways.values()) == {"turn"}


def test_a_contestant_of_which_it_is_not_known_how_calls_end_is_tried() -> None:
    assert set(run(Caller(), former=ended({"candidate": "word", "eager": "turn"})).ways.values()) == {"turn"}


def test_a_later_session_of_a_case_measures_no_empty_kernel_where_all_calls_end_alike() -> None:
    former, caller = run(Caller()), Caller()
    result = run(caller, former=former, sessions=2)
    assert not any(asked.is_empty and asked.has_tensors for asked in caller.asked)
    assert scored(result) == scored(former) == {name: {ns} for name, ns in KERNELS.items()}


@pytest.mark.parametrize("way", ["word", "wall"])
def test_an_empty_kernel_is_measured_anew_where_calls_end_in_two_ways_or_by_the_wall_clock(way: Way) -> None:
    former = run(Caller())
    former.ways["candidate"] = way
    caller = Caller()
    kernels = {**KERNELS, "candidate": LONG}
    result = run(caller, kernels, former=former, sessions=2)
    assert any(asked.is_empty and asked.has_tensors for asked in caller.asked)
    assert scored(result)["candidate"] == {LONG}


def test_an_empty_kernel_is_measured_anew_in_another_baselines_worker() -> None:
    former = run(Caller())
    former.trusted = "functional"
    caller = Caller()
    run(caller, former=former, sessions=2)
    assert any(asked.is_empty and asked.has_tensors for asked in caller.asked)


def test_what_an_earlier_session_knows_of_empty_kernels_bounds_what_is_taken_off() -> None:
    """A candidate that lengthens calls of the trusted worker gains only the amount that the bound leaves."""

    def tamper(asked: Asked, seen: Observation) -> Observation:
        lengthens = asked.name == "eager" and asked.has_tensors and not asked.is_empty
        return replace(seen, elapsed_ns=seen.elapsed_ns + 900 * US * lengthens)

    kernels = dict.fromkeys(KERNELS, 2 * LONG)
    result = run(Caller(tamper), kernels, former=run(Caller(), kernels), sessions=2)
    assert min(scored(result)["candidate"]) >= 2 * LONG - 9 * US


def test_events_around_an_empty_kernel_are_measured_in_eagers_worker_before_anything_is_loaded() -> None:
    caller = Caller()
    result = run(caller, sessions=2)
    assert not any(asked.is_empty and asked.with_events for asked in caller.asked)
    assert result.calibration is not None
    assert result.calibration.empty_events == [EMPTY_KERNEL_NS + LAUNCH_NS] * timing_session._EMPTY_CALLS
    assert scored(result)["candidate"] == {KERNELS["candidate"]}
    steps = caller.workers["eager"].steps
    assert steps.index("load") > max(place for place, step in enumerate(steps) if step == "events")
    assert "events" not in caller.workers["candidate"].steps


def test_a_candidate_that_lengthens_what_events_show_gains_nothing_in_any_session() -> None:
    def tamper(asked: Asked, seen: Observation) -> Observation:
        lengthens = asked.is_empty and asked.phase == "before" and seen.event_ns is not None
        return replace(seen, event_ns=(seen.event_ns or 0) + 1_400) if lengthens else seen

    for sessions in (1, 2):
        assert scored(run(Caller(tamper), sessions=sessions))["candidate"] == {KERNELS["candidate"]}


# --- workers and the machine ------------------------------------------------------------------------------------------


def test_no_worker_gets_values_twice_and_only_baselines_share_theirs() -> None:
    caller = Caller()
    result = run(caller, {**KERNELS, "functional": SHORT})
    assert result.failure == ""
    owners: dict[int, list[str]] = defaultdict(list)
    for name, inputs in caller.given:
        owners[id(inputs)].append(name)
    shared = [sorted(names) for names in owners.values() if len(names) > 1]
    assert len(shared) >= ROUNDS
    assert all(names == ["eager", "functional"] for names in shared)


def test_values_that_are_only_checked_are_drawn_by_another_thread_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[tuple[str, int]] = []

    def draw(task: Any, case: Any) -> Inputs:
        threads.append((case.distribution, threading.get_ident()))
        return make_inputs(task, case)

    monkeypatch.setattr(timing_session, "make_inputs", draw)
    with ThreadPoolExecutor(2) as ahead:
        result = run(Caller(), distributions=("normal", "constant"), threads=ahead)
    assert sorted(name for name, _ in threads) == ["constant", "normal"]
    assert threading.get_ident() not in {thread for _, thread in threads}
    assert {"normal", "constant"} <= {each.distribution for each in result.results}
    assert result.failure == ""


def test_a_wrong_answer_ends_the_session_in_whatever_way_its_call_ends() -> None:
    for kernel_ns in (SHORT, LONG):
        caller = Caller(
            lambda asked, seen: replace(seen, outputs={"y": seen.outputs["y"] + 1}) if spoils(asked) else seen
        )
        result = run(caller, {**KERNELS, "candidate": kernel_ns})
        assert result.failure.startswith("y[")
        assert max(each.number for each in caller.sampled() if each.name == "candidate") <= 3


def spoils(asked: Asked) -> bool:
    return asked.name == "candidate" and asked.phase == "sampling" and asked.number == 3


def test_no_heap_is_made_ready_for_results_that_are_on_the_device() -> None:
    HEAPS.clear()
    run(Caller())
    assert HEAPS == [0, 0, 0]


def test_workers_are_closed_all_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    everybody = threading.Barrier(3)
    monkeypatch.setattr(Device, "starts_at_once", 3)
    monkeypatch.setattr(Worker, "close", lambda self: everybody.wait(timeout=10))
    assert run(Caller()).failure == ""  # else the barrier would be broken


@pytest.mark.parametrize(("felt", "is_quiet"), [({7}, False), ({5}, True)], ids=["on our cores", "elsewhere"])
def test_others_disturb_on_the_cores_where_they_are_felt(
    felt: set[int], is_quiet: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = Device()
    device.felt_cores = felt
    busy_s = {5: lambda: 0.0, 7: lambda: 50 * time.monotonic()}  # of the others: 50 cores, and our own are subtracted
    monkeypatch.setattr(machine, "busy_seconds", lambda cores: sum(busy_s[core]() for core in cores))
    assert run(Caller(device=device)).as_record(0).is_quiet is is_quiet


def test_a_device_that_was_disturbed_is_told() -> None:
    device = Device()
    device.complaint = "the device had lowered its clocks: power brake"
    result = run(Caller(device=device))
    assert not result.as_record(0).is_quiet
    assert result.disturbance == device.complaint
