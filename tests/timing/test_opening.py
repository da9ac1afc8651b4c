"""Workers that open a device ahead of time, and those that several bindings share. Sessions and workers are made up."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from specimens import make_case, make_task

from robust_kbench.errors import HarnessError
from robust_kbench.schema.record import Session
from robust_kbench.stopwatch import Stopwatch
from robust_kbench.timing import measure as measuring
from robust_kbench.timing import opening as opening_
from robust_kbench.timing.measure import Measured, measure
from robust_kbench.timing.opening import Opening
from robust_kbench.timing.plan import PLANS
from robust_kbench.timing.result import SessionResult

TASK = make_task()
SHAPES = ({"rows": 8, "cols": 8}, {"rows": 16, "cols": 8}, {"rows": 32, "cols": 8})
CASES = [make_case(axes=axes, dtype=dtype, role="timed") for axes in SHAPES for dtype in ("float32", "float16")]
CONTESTANTS: Any = [SimpleNamespace(warm_up=lambda *_: None) for _ in range(2)]
ARENA_BYTES = 1 << 20


class Arena:
    size_bytes = ARENA_BYTES
    closed = 0

    def close(self) -> None:
        self.closed += 1


class Workers:
    """Noted by the test, in the order of their making."""

    made: list[Workers]
    fails: set[str]
    dead: set[str]

    def __init__(self, *_: Any) -> None:
        self.dtype, self.is_closed = "", False
        Workers.made.append(self)

    def open(self, contestants: Any, dtype: str) -> None:
        self.dtype = dtype
        if dtype in Workers.fails:
            raise HarnessError("no device")

    def close(self) -> None:
        self.is_closed = True

    @property
    def are_well(self) -> bool:
        return self.dtype not in Workers.dead


@pytest.fixture(autouse=True)
def made(monkeypatch: pytest.MonkeyPatch) -> list[Workers]:
    Workers.made, Workers.fails, Workers.dead = [], set(), set()
    monkeypatch.setattr(opening_, "Workers", Workers)
    monkeypatch.setattr(opening_, "open_arena", lambda *_: Arena())
    return Workers.made


def device(kind: str = "cuda", free_bytes: int = 1 << 40) -> Any:
    return SimpleNamespace(kind=kind, pool_bytes=0, free_bytes=lambda: free_bytes, judging_place="cpu")


def opened(on: Any, *, is_ahead: bool = True) -> Opening:
    unused: Any = None
    return Opening(TASK, CONTESTANTS, CASES, unused, on, is_ahead=is_ahead)


def test_workers_of_every_dtype_are_opened_and_each_are_taken_once(made: list[Workers]) -> None:
    opening = opened(device())
    taken: Any = opening.take("float32")
    assert (taken.dtype, taken.is_closed) == ("float32", False)
    assert opening.take("float32") is None
    arena: Any = opening.arena
    opening.close()
    opening.close()
    assert arena.closed == 1
    assert {workers.dtype: workers.is_closed for workers in made} == {"float32": False, "float16": True}


@pytest.mark.parametrize(("kind", "is_ahead"), [("cpu", True), ("cuda", False)])
def test_nothing_is_opened_ahead_on_a_processor_or_where_nobody_asks(
    made: list[Workers], kind: str, is_ahead: bool
) -> None:
    opening = opened(device(kind), is_ahead=is_ahead)
    assert opening.take("float32") is None
    opening.close()
    assert made == []


def test_only_as_many_are_opened_as_a_quarter_of_the_memory_holds(made: list[Workers]) -> None:
    opening = opened(device(free_bytes=4 * 2 * ARENA_BYTES))
    assert opening.take("float32") is not None
    assert opening.take("float16") is None
    assert len(made) == 1
    opening.close()


def test_an_unforeseen_error_leaves_nothing_open(made: list[Workers], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Workers, "open", lambda *_: next(iter(())))
    opening = opened(device())
    assert opening.take("float32") is None
    assert made[0].is_closed
    opening.close()


def test_workers_that_cannot_open_are_left_to_the_session_that_needs_them(made: list[Workers]) -> None:
    Workers.fails = {"float32"}
    opening = opened(device())
    assert opening.take("float32") is None
    assert made[0].is_closed
    opening.close()


class TimingSession:
    """Notes which workers it runs with; None are its own."""

    log: list[tuple[str, int, object]]
    disturbed: set[tuple[str, int]]

    def __init__(self, task: Any, case: Any, *_: Any, **__: Any) -> None:
        self.case = case

    def look_at_the_idle_device(self) -> None:
        """Nobody else is there."""

    def start(self, workers: Any) -> Any:
        started = workers or Workers()
        started.dtype = self.case.dtype
        return started

    def run(self, workers: Any = None) -> SessionResult:
        assert workers is not None or all(each.is_closed for each in Workers.made)  # the device is idle
        key = self.case.dtype, self.case.axes["rows"]
        TimingSession.log.append((*key, workers))
        result: Any = SimpleNamespace(
            failure="", disturbance="", foreign_load=0.0, seen=[], results=[], findings=[], clock="gate",
            has_unsteady_clock=False,
        )  # fmt: skip
        if key in TimingSession.disturbed:
            TimingSession.disturbed.discard(key)
            result.disturbance = "others had the device"
        result.as_record = lambda repeated: Session(samples={}, foreign_load=0.0, repeated=repeated, stop="rounds")
        result.logs = lambda: [0.0, 0.0]
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
            is_doubtful=lambda seen: False, **more,
        )  # fmt: skip

    return run


def test_bindings_of_one_dtype_share_the_workers_of_a_turn_on_a_device(measured: Callable[..., Measured]) -> None:
    told = measured(device())
    turns = PLANS["full"].sessions
    assert [len(timing.sessions) for timing in told.timings] == [turns] * len(CASES)
    rows = [axes["rows"] for axes in SHAPES]
    assert [key[:2] for key in TimingSession.log] == [
        (dtype, count) for dtype in ("float32", "float16") for _ in range(turns) for count in rows
    ]
    by_turn = [TimingSession.log[at : at + len(rows)] for at in range(0, len(TimingSession.log), len(rows))]
    assert all(len({id(workers) for _, _, workers in turn}) == 1 for turn in by_turn)
    assert len({id(turn[0][2]) for turn in by_turn}) == 2 * turns
    assert all(workers.is_closed for workers in Workers.made)


def test_on_a_processor_every_session_has_workers_of_its_own(measured: Callable[..., Measured]) -> None:
    measured(device("cpu"))
    assert {workers for _, _, workers in TimingSession.log} == {None}
    assert [key[:2] for key in TimingSession.log[: PLANS["full"].sessions]] == [("float32", 8)] * PLANS["full"].sessions


def test_a_session_that_is_repeated_has_workers_of_its_own(measured: Callable[..., Measured]) -> None:
    told = measured(device(), disturbed={("float32", 16)})
    again = [workers for dtype, rows, workers in TimingSession.log if (dtype, rows) == ("float32", 16)][:2]
    assert again[0] is not None
    assert again[1] is None
    assert [workers for dtype, rows, workers in TimingSession.log if (dtype, rows) == ("float32", 32)][0] is None
    assert Workers.made[0].is_closed  # before the session was repeated, see below
    (timing,) = (each for each in told.timings if each.dtype == "float32" and each.axes["rows"] == 16)
    assert [session.repeated for session in timing.sessions][:2] == [1, 0]


def test_where_a_worker_has_died_later_bindings_have_workers_of_their_own(measured: Callable[..., Measured]) -> None:
    Workers.dead = {"float16"}
    measured(device())
    assert {workers for dtype, _, workers in TimingSession.log if dtype == "float16"} == {None}
    assert None not in {workers for dtype, _, workers in TimingSession.log if dtype == "float32"}


def test_workers_that_are_open_are_closed_where_the_look_at_the_idle_device_fails(
    measured: Callable[..., Measured], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: TimingSession) -> None:
        raise RuntimeError("out of memory")

    monkeypatch.setattr(TimingSession, "look_at_the_idle_device", fail)
    with pytest.raises(RuntimeError, match="out of memory"):
        measured(device(), opening=opened(device()))
    assert all(workers.is_closed for workers in Workers.made)


def test_what_was_opened_ahead_serves_the_first_turn_and_is_closed(measured: Callable[..., Measured]) -> None:
    opening = opened(device())
    measured(device(), opening=opening)
    ahead = Workers.made[:2]
    assert [(workers.dtype, workers.is_closed) for workers in ahead] == [("float32", True), ("float16", True)]
    assert TimingSession.log[0][2] is ahead[0]
    assert [dtype for dtype, _, workers in TimingSession.log if workers is ahead[1]] == ["float16"] * len(SHAPES)
