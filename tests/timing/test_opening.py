"""Workers that open a device ahead of time, and workers that several bindings share. All of these are made up."""

from __future__ import annotations

import itertools
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
from specimens import make_case, make_task

from robust_kbench import machine_lock
from robust_kbench.devices import machine, shares
from robust_kbench.errors import HarnessError, WorkerCrashed
from robust_kbench.isolation.calling import CONTEXT_BYTES
from robust_kbench.isolation.calls import case_footprint
from robust_kbench.schema.case import Case
from robust_kbench.schema.finding import Finding
from robust_kbench.schema.record import LOST_BASELINE, Session
from robust_kbench.stopwatch import Stopwatch
from robust_kbench.timing import measure as measuring
from robust_kbench.timing import opening as opening_
from robust_kbench.timing.measure import Measured, measure
from robust_kbench.timing.opening import Opening
from robust_kbench.timing.plan import PLANS, plan_for
from robust_kbench.timing.result import SessionResult

TASK = make_task()
SHAPES = ({"rows": 8, "cols": 8}, {"rows": 16, "cols": 8}, {"rows": 32, "cols": 8})
CASES = [make_case(axes=axes, dtype=dtype, role="timed") for axes in SHAPES for dtype in ("float32", "float16")]
CONTESTANTS: Any = [SimpleNamespace(name=name, abi="c", warm_up=lambda *_: None) for name in ("candidate", "eager")]
ARENA_BYTES = 1 << 20


class Arena:
    size_bytes = ARENA_BYTES
    closed = 0

    def for_a_worker(self) -> Arena:
        return Arena()

    def close(self) -> None:
        self.closed += 1


class Workers:
    """Workers that the test notes, in the order of their making."""

    made: list[Workers]
    fails: set[int]
    dead: set[int]
    fails_to_prepare: set[int]
    prepared: list[tuple[Workers, Any]]
    dtypes: list[str]

    def __init__(self, *_: Any) -> None:
        self.dtypes, self.is_closed, self.is_killed = [], False, False
        Workers.made.append(self)

    def open(self, contestants: Any, dtypes: Any) -> None:
        self.dtypes = dtypes
        if len(Workers.made) in Workers.fails:
            raise HarnessError("no device")

    def preparations(self, task: Any, cases: Any, is_off: Callable[[], bool]) -> list[Callable[[], None]]:
        number = len(Workers.prepared) + 1
        Workers.prepared.append((self, cases))

        def prepare() -> None:
            assert not is_off()
            if number in Workers.fails_to_prepare:
                raise WorkerCrashed("killed")

        return [prepare, lambda: None]

    def close(self) -> None:
        self.is_closed = True

    def kill(self) -> None:
        self.is_killed = True

    @property
    def are_well(self) -> bool:
        return Workers.made.index(self) not in Workers.dead


@pytest.fixture(autouse=True)
def made(monkeypatch: pytest.MonkeyPatch) -> list[Workers]:
    Workers.made, Workers.fails, Workers.dead = [], set(), set()
    Workers.prepared, Workers.fails_to_prepare = [], set()
    monkeypatch.setattr(opening_, "Workers", Workers)
    monkeypatch.setattr(opening_, "open_arena", lambda *_: Arena())
    return Workers.made


def device(kind: str = "cuda", free_bytes: int = 1 << 40) -> Any:
    return SimpleNamespace(kind=kind, pool_bytes=0, free_bytes=lambda: free_bytes, judging_place="cpu")


def opened(on: Any, turns: int = 2) -> Opening:
    unused: Any = None
    return Opening(TASK, CONTESTANTS, CASES, unused, on, turns_ahead=turns)


def test_workers_of_every_turn_are_opened_for_all_dtypes_and_taken_once(made: list[Workers]) -> None:
    opening = opened(device(), turns=3)
    taken: list[Any] = [opening.take(), opening.take()]
    assert taken == made[:2]
    assert [(workers.dtypes, workers.is_closed) for workers in taken] == [(["float32", "float16"], False)] * 2
    arena: Any = opening.arenas.common
    opening.close()
    opening.close()
    assert arena.closed == 1
    assert [workers.is_closed for workers in made] == [False, False, True]
    assert opening.take() is None


def test_baselines_of_every_turn_are_called_ahead_for_every_case(made: list[Workers]) -> None:
    opening = opened(device(), turns=3)
    taken: Any = opening.take()
    assert taken is made[0]
    assert Workers.prepared == [(workers, CASES) for workers in made]
    opening.close()


def test_baselines_of_the_first_turn_are_called_while_those_of_the_next_are_opened(
    made: list[Workers], monkeypatch: pytest.MonkeyPatch
) -> None:
    is_called = threading.Event()

    def open_late(self: Workers, *_: Any) -> None:
        if self is not made[0] and not is_called.wait(10):
            raise HarnessError("waited in vain")

    monkeypatch.setattr(Workers, "open", open_late)
    monkeypatch.setattr(Workers, "preparations", lambda *_: [is_called.set])
    opening = opened(device(), turns=2)
    taken: list[Any] = [opening.take(), opening.take()]
    assert taken == made
    opening.close()


def test_workers_that_are_opened_when_they_are_needed_are_prepared_for_what_is_due(made: list[Workers]) -> None:
    opening = opened(device(), turns=0)
    taken: Any = opening.open_now(CASES[:2])
    assert taken is made[0]
    assert Workers.prepared == [(made[0], CASES[:2])]
    Workers.fails = {2}
    assert opening.open_now(CASES) is None
    Workers.fails, Workers.fails_to_prepare = set(), {2}
    assert opening.open_now(CASES) is None
    assert [workers.is_closed for workers in made] == [False, True, True]
    opening.close()


@pytest.mark.parametrize("number", [1, 2])
def test_workers_that_cannot_be_prepared_are_left_to_the_session_that_needs_them(
    made: list[Workers], number: int
) -> None:
    Workers.fails_to_prepare = {number}
    opening = opened(device(), turns=2)
    taken: list[Any] = [opening.take(), opening.take()]
    assert taken == [made[2 - number], None]
    assert [workers.is_closed for workers in made] == [number == 1, number == 2]
    opening.close()


def test_as_many_baselines_are_called_at_once_as_have_memory_and_a_core(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(6)))
    needed_bytes = opening_._FOOTPRINTS_OF_A_CALL * max(case_footprint(TASK, case) for case in CASES)
    on = device()
    opening = opened(on, turns=0)
    for calls, on_the_host, at_once in ((0, 9, 1), (3, 9, 3), (9, 9, 6), (9, 0, 1), (9, 4, 4)):
        on.free_bytes = lambda calls=calls: int(calls * needed_bytes / shares.PREPARING) + 9
        monkeypatch.setattr(machine, "free_bytes", lambda most=on_the_host: most * opening_._HOST_BYTES_OF_A_CALL + 9)
        assert opening._calls_at_once() == at_once
    opening.close()


@pytest.mark.parametrize(("kind", "turns"), [("cpu", 2), ("cuda", 0)])
def test_nothing_is_opened_ahead_on_a_processor_or_where_nobody_asks(
    made: list[Workers], kind: str, turns: int
) -> None:
    opening = opened(device(kind), turns)
    assert opening.take() is None
    opening.close()
    assert made == []


def test_only_as_many_are_opened_as_their_share_of_the_memory_holds(made: list[Workers]) -> None:
    needed_bytes = len(CONTESTANTS) * (ARENA_BYTES + CONTEXT_BYTES)  # a further turn has the same arenas
    opening = opened(device(free_bytes=int(needed_bytes / shares.OPENING_BESIDE_MANY) + 9))
    taken: list[Any] = [opening.take(), opening.take()]
    assert taken == [made[0], None]
    assert len(made) == 1
    opening.close()


def test_no_further_turn_is_opened_when_nobody_will_need_it(
    made: list[Workers], monkeypatch: pytest.MonkeyPatch
) -> None:
    goes_on = threading.Event()
    monkeypatch.setattr(Workers, "open", lambda *_: goes_on.wait(10))
    opening = opened(device(), turns=5)
    while not made:
        time.sleep(0.001)
    closing = threading.Thread(target=opening.close)
    closing.start()
    while not opening._is_given_up:
        time.sleep(0.001)
    goes_on.set()
    closing.join()
    assert [workers.is_closed for workers in made] == [True]


def test_an_unforeseen_error_leaves_nothing_open(made: list[Workers], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Workers, "open", lambda *_: next(iter(())))
    opening = opened(device())
    assert opening.take() is None
    assert made[0].is_closed
    opening.close()


def test_workers_that_cannot_open_are_left_to_the_session_that_needs_them(made: list[Workers]) -> None:
    Workers.fails = {2}
    opening = opened(device(), turns=3)
    taken: list[Any] = [opening.take(), opening.take()]
    assert taken == [made[0], None]
    assert [workers.is_closed for workers in made] == [False, True]
    opening.close()


def test_what_is_opened_ahead_is_given_back_at_once_when_memory_is_short(
    made: list[Workers], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory is also given back while a baseline is called, which dies by it. Later turns open workers as needed."""
    is_called, is_killed = threading.Event(), threading.Event()

    def prepare() -> None:
        is_called.set()
        assert is_killed.wait(10)
        raise WorkerCrashed("killed")

    monkeypatch.setattr(Workers, "preparations", lambda *_: [prepare])
    monkeypatch.setattr(Workers, "kill", lambda self: is_killed.set())
    opening = opened(device(), turns=2)
    own: Any = opening.arenas.of("eager")
    assert is_called.wait(10)
    while len(made) < 2:
        time.sleep(0.001)
    assert opening.give_up()
    assert own.closed == 1
    assert [workers.is_closed for workers in made] == [True, True]
    assert not opening.give_up()
    assert opening.take() is None
    monkeypatch.setattr(Workers, "preparations", lambda *_: [])
    later: Any = opening.open_now(CASES)
    assert later is made[2]
    opening.close()


def test_workers_that_wait_for_their_turn_are_killed_and_closed_too(made: list[Workers]) -> None:
    opening = opened(device(), turns=2)
    opening.wait()
    assert opening.give_up()
    assert [(workers.is_killed, workers.is_closed) for workers in made] == [(True, True)] * 2
    assert opening.take() is None
    opening.close()


def test_baselines_that_cannot_be_prepared_in_peace_are_not_called_ahead_again(made: list[Workers]) -> None:
    """A call that hangs would cost three minutes in every turn."""
    opening = opened(device(), turns=0)
    Workers.fails_to_prepare = {1}
    assert opening.open_now(CASES) is None
    later: Any = opening.open_now(CASES)
    assert later is made[1]
    assert len(Workers.prepared) == 1
    opening.close()


def test_an_unforeseen_error_in_preparing_leaves_nothing_open(
    made: list[Workers], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Workers, "preparations", lambda *_: next(iter(())))
    opening = opened(device(), turns=2)
    assert opening.take() is None
    assert [workers.is_closed for workers in made] == [True, True]
    opening.close()


def test_nothing_is_opened_ahead_while_others_measure(made: list[Workers]) -> None:
    with machine_lock.quiet():
        opening = opened(device(), turns=1)
        time.sleep(0.1)
        assert made == []
    taken: Any = opening.take()
    assert taken is made[0]
    opening.close()


TIMES = {"candidate": "time_ns", "eager": "fastest_ns"}


class TimingSession:
    """Stand-in for a session that notes which workers it runs with; None are its own."""

    log: list[tuple[str, int, object]]
    disturbed: set[tuple[str, int]]
    short_of_memory: dict[tuple[str, int], str] = {}
    """Messages of failures by binding, each of which happens once."""
    so_far: Any = SimpleNamespace(seen=[], failure="")
    time_ns = fastest_ns = 50_000
    logs: Iterator[float] = itertools.repeat(0.0)
    """Log ratios of the sessions, in turn."""

    def __init__(self, task: Any, case: Any, *_: Any, **__: Any) -> None:
        self.case = case

    def look_at_the_idle_device(self) -> None:
        """Check that all workers of earlier sessions are closed."""
        assert all(workers.is_closed for _, _, workers in TimingSession.log if isinstance(workers, Workers))

    checked_bytes = 0

    def draw_ahead(self, threads: Any) -> list[Any]:
        return []

    def start(self, workers: Any, dtypes: Any, meanwhile: Callable[[], None]) -> Any:
        meanwhile()
        started = workers or Workers()
        started.dtypes = dtypes
        return started

    def run(self, workers: Any = None) -> SessionResult:
        assert workers is not None or all(each.is_closed for each in Workers.made)  # the device is idle
        key = self.case.dtype, self.case.axes["rows"]
        TimingSession.log.append((*key, workers))
        result: Any = SimpleNamespace(
            failure="", disturbance="", foreign_load=0.0, seen=[], results=[], findings=[], clock="gate",
            has_unsteady_clock=False, ways={}, fastest="eager", resolution_ns=1_000,
        )  # fmt: skip
        if words := TimingSession.short_of_memory.pop(key, ""):
            if words.startswith("cuMem"):
                raise RuntimeError(words)
            if words.startswith("incorrect"):  # and a baseline has found no memory
                result.findings = [Finding(guard=LOST_BASELINE, severity="warn", message="out of memory")]
            result.failure = words
        if key in TimingSession.disturbed:
            TimingSession.disturbed.discard(key)
            result.disturbance = "others had the device"
        result.as_record = lambda repeated: Session(samples={}, foreign_load=0.0, repeated=repeated, stop="rounds")
        log = next(TimingSession.logs)
        result.logs, result.times = lambda: [log, log], lambda name: [getattr(TimingSession, TIMES[name])]
        told: SessionResult = result
        return told


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Measured]:
    def run(on: Any, tier: Any = "full", disturbed: set[tuple[str, int]] = frozenset(), **more: Any) -> Measured:  # type: ignore[assignment]
        TimingSession.log, TimingSession.disturbed = [], set(disturbed)
        monkeypatch.setattr(measuring, "TimingSession", TimingSession)
        monkeypatch.setattr(measuring, "sleep", lambda seconds: None)
        unused: Any = None
        return measure(
            TASK, CONTESTANTS, CASES, tier,
            judge=unused, pool=unused, device=on, watch=Stopwatch(), progress=lambda *_: None,
            **more,
        )  # fmt: skip

    return run


@pytest.mark.parametrize("words", ["raised OutOfMemoryError: CUDA out of memory", "cuMemCreate: out of memory"])
@pytest.mark.parametrize("turns", [2, 0])
def test_a_session_that_found_no_memory_beside_workers_of_later_turns_is_repeated_without_them(
    measured: Callable[..., Measured], monkeypatch: pytest.MonkeyPatch, words: str, turns: int
) -> None:
    monkeypatch.setattr(TimingSession, "short_of_memory", {("float32", 16): words})
    opening = opened(device(), turns=turns)
    if not turns:  # there was nobody: the failure stands
        with pytest.raises(RuntimeError) if words.startswith("cuMem") else nullcontext():
            assert measured(device(), opening=opening).failure.endswith(words)
        return
    opening.wait()
    later = Workers.made[1]
    told = measured(device(), opening=opening)
    assert told.failure == ""
    assert later.is_closed
    assert all(workers is not later for _, _, workers in TimingSession.log)
    assert [len(timing.sessions) for timing in told.timings] == [plan_for("full", "cuda").sessions] * len(CASES)


def test_values_are_drawn_while_the_first_workers_are_being_opened(
    measured: Callable[..., Measured], monkeypatch: pytest.MonkeyPatch
) -> None:
    is_drawn = threading.Event()
    waited = list[bool]()
    monkeypatch.setattr(Workers, "open", lambda *_: waited.append(is_drawn.wait(10)))
    monkeypatch.setattr(TimingSession, "draw_ahead", lambda *_: is_drawn.set())
    assert measured(device(), opening=opened(device())).failure == ""
    assert waited[0]


def test_a_wrong_answer_stands_whatever_a_baseline_says(
    measured: Callable[..., Measured], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TimingSession, "short_of_memory", {("float32", 16): "incorrect: y[0] is 1, not 2"})
    opening = opened(device(), turns=2)
    opening.wait()
    assert measured(device(), opening=opening).failure.endswith("y[0] is 1, not 2")


def test_workers_that_map_an_arena_which_is_used_no_more_are_not_called(
    made: list[Workers], monkeypatch: pytest.MonkeyPatch
) -> None:
    opening = opened(device(), turns=2)
    opening.arenas.of("candidate")
    first: Any = opening.take()
    second: Any = opening.take()
    shared = measuring._Shared(opening)
    shared._former, shared.workers = first, second  # as a turn begins
    monkeypatch.setattr(first, "close", lambda: opening.arenas.abandon("candidate"))  # whose end takes too long
    case: Any = CASES[0]
    monkeypatch.setattr(TimingSession, "log", [])
    session: Any = TimingSession(TASK, case)
    shared.start([session])
    assert second.is_closed
    assert shared.workers is not second
    assert not opening.arenas.is_spoilt
    shared.close()
    opening.close()


BINDINGS = {(case.dtype, case.axes["rows"]) for case in CASES}


def test_all_bindings_share_the_workers_of_a_turn_on_a_device_in_random_order(
    measured: Callable[..., Measured],
) -> None:
    told = measured(device())
    turns = plan_for("full", "cuda").sessions
    assert [len(timing.sessions) for timing in told.timings] == [turns] * len(CASES)
    by_turn = [TimingSession.log[at : at + len(CASES)] for at in range(0, len(TimingSession.log), len(CASES))]
    assert [{key[:2] for key in turn} for turn in by_turn] == [BINDINGS] * turns
    assert [{id(workers) for _, _, workers in turn} for turn in by_turn] == [{id(each)} for each in Workers.made]
    assert {tuple(sorted(workers.dtypes)) for workers in Workers.made} == {("float16", "float32")}
    assert all(workers.is_closed for workers in Workers.made)
    assert len({tuple(key[:2] for key in turn) for turn in by_turn}) > 1  # once in 720^4 it is the same


def test_a_single_binding_has_prepared_workers_too(
    measured: Callable[..., Measured], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(globals(), "CASES", CASES[:1])
    measured(device())
    assert [workers for _, _, workers in TimingSession.log] == Workers.made
    assert Workers.prepared == [(workers, CASES[:1]) for workers in Workers.made]
    assert all(workers.is_closed for workers in Workers.made)


def test_bindings_are_measured_in_groups_whose_streams_of_values_fit_into_memory(
    measured: Callable[..., Measured],
) -> None:
    room_bytes = 4 * sum(_streams_bytes(case) for case in CASES[:2])
    told = measured(device(free_bytes=room_bytes))
    assert [len(timing.sessions) for timing in told.timings] == [plan_for("full", "cuda").sessions] * len(CASES)
    first = {key[:2] for key in TimingSession.log[:2]}
    assert first == {(case.dtype, case.axes["rows"]) for case in CASES[:2]}


def _streams_bytes(case: Case) -> int:
    return measuring._BANK_FOOTPRINTS * case_footprint(TASK, case)


@pytest.mark.parametrize(
    ("time_ns", "fastest_ns", "more"), [(50_000, 50_000, 2), (3_500, 50_000, 0), (50_000, 3_500, 0)]
)
def test_sessions_that_disagree_have_others_added_unless_a_time_is_too_short_for_the_clock(
    measured: Callable[..., Measured], monkeypatch: pytest.MonkeyPatch, time_ns: int, fastest_ns: int, more: int
) -> None:
    monkeypatch.setattr(TimingSession, "time_ns", time_ns)
    monkeypatch.setattr(TimingSession, "fastest_ns", fastest_ns)
    by_turn = itertools.cycle([-0.09, 0.09])
    logs = itertools.chain.from_iterable(itertools.repeat(log, len(CASES)) for log in by_turn)
    monkeypatch.setattr(TimingSession, "logs", logs)
    plan = plan_for("full", "cuda")
    told = measured(device())
    assert [len(timing.sessions) for timing in told.timings] == [plan.sessions + more] * len(CASES)


def test_on_a_processor_every_session_has_workers_of_its_own(measured: Callable[..., Measured]) -> None:
    measured(device("cpu"))
    assert {workers for _, _, workers in TimingSession.log} == {None}
    assert [key[:2] for key in TimingSession.log[: PLANS["full"].sessions]] == [("float32", 8)] * PLANS["full"].sessions


def test_a_session_that_is_repeated_has_workers_of_its_own(measured: Callable[..., Measured]) -> None:
    told = measured(device(), disturbed={("float32", 16)})
    log = TimingSession.log[: len(CASES) + 1]
    at = [key[:2] for key in log].index(("float32", 16))
    assert log[at + 1][:2] == ("float32", 16)
    assert {workers for _, _, workers in log[: at + 1]} == {Workers.made[0]}
    assert log[at + 1][2] is None
    assert {workers for _, _, workers in log[at + 2 :]} <= {Workers.made[1], None}
    assert None not in {workers for _, _, workers in log[at + 2 : -1]}  # but the last of a turn needs none to share
    assert Workers.made[0].is_closed  # before the session was repeated, see below
    (timing,) = (each for each in told.timings if each.dtype == "float32" and each.axes["rows"] == 16)
    assert [session.repeated for session in timing.sessions][:2] == [1, 0]


def test_where_a_worker_has_died_later_bindings_share_other_ones(measured: Callable[..., Measured]) -> None:
    Workers.dead = {1}
    measured(device())
    by_turn = [TimingSession.log[at : at + len(CASES)] for at in range(0, len(TimingSession.log), len(CASES))]
    assert [{workers for _, _, workers in turn} for turn in by_turn[:3]] == [
        {Workers.made[0]},
        {Workers.made[2]},
        {Workers.made[3]},
    ]
    assert Workers.made[1].is_closed


def test_workers_that_are_open_are_closed_where_the_look_at_the_idle_device_fails(
    measured: Callable[..., Measured], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: TimingSession) -> None:
        raise RuntimeError("out of memory")

    monkeypatch.setattr(TimingSession, "look_at_the_idle_device", fail)
    with pytest.raises(RuntimeError, match="out of memory"):
        measured(device(), opening=opened(device()))
    assert all(workers.is_closed for workers in Workers.made)


def test_what_was_opened_ahead_serves_the_first_turns_and_is_closed(measured: Callable[..., Measured]) -> None:
    opening = opened(device())
    measured(device(), opening=opening)
    assert [workers.is_closed for workers in Workers.made] == [True] * plan_for("full", "cuda").sessions
    assert TimingSession.log[0][2] is Workers.made[0]
    assert TimingSession.log[len(CASES)][2] is Workers.made[1]
