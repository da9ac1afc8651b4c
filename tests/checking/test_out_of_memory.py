"""A device on which the judge finds no memory for a case, and the party that is to blame. The workers are made up."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from specimens import make_case, make_observation, make_task

from robust_kbench.cases.values import make_inputs
from robust_kbench.checking import crew
from robust_kbench.checking.crew import Crew
from robust_kbench.checking.room import Room
from robust_kbench.errors import HarnessError
from robust_kbench.schema.observation import Observation
from robust_kbench.stopwatch import Stopwatch

TASK, CASE = make_task(), make_case()
BUILT: Any = SimpleNamespace(path=Path("kernel"), execution="native")


class Arena:
    def for_a_worker(self) -> Arena:
        return self

    def close(self) -> None:
        """Close nothing, as nothing is mapped."""


class Worker:
    log, layers, is_suspect = "its last words", (), False

    def __init__(self, arena: Arena) -> None:
        self.arena, self.is_closed, self.is_killed = arena, False, False

    def kill(self) -> None:
        self.is_killed = True

    def close(self) -> None:
        self.is_closed = True


def out_of_memory(*_: Any, **__: Any) -> Observation:
    raise torch.OutOfMemoryError("CUDA out of memory")


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Crew]:
    def made(
        problem: str,
        call: Callable[..., Observation] = out_of_memory,
        *,
        is_short: bool = True,
        room: Room | None = None,
    ) -> Crew:
        monkeypatch.setattr(crew, "open_arena", lambda *_: Arena())
        monkeypatch.setattr(crew, "open_caller", lambda *_, **__: SimpleNamespace(call=call))
        monkeypatch.setattr(crew, "take_too_much", lambda workers, call_bytes: problem)
        monkeypatch.setattr(crew, "is_short", lambda call_bytes: is_short)
        contestant: Any = SimpleNamespace(
            abi="value",
            start=lambda pool, arena, *_, **__: Worker(arena),
            collect=lambda *_: None,
            exchange=lambda *_: None,
        )
        unused: Any = None
        device: Any = SimpleNamespace(kind="cuda")
        return Crew(TASK, contestant, unused, device, 1.0, Stopwatch(), room=room)

    return made


def _called(made: Crew) -> Observation:
    return made.call(CASE, make_inputs(TASK, CASE), BUILT, None)


def test_a_worker_that_keeps_it_from_the_judge_has_crashed_and_is_gone(make: Callable[..., Crew]) -> None:
    made = make("held 70.0 GiB of the device's memory")
    seen = _called(made)
    assert (seen.ending, seen.message) == ("crashed", "held 70.0 GiB of the device's memory")
    assert seen.log == "its last words"
    assert not made.has_worker("float32")


def test_workers_of_other_crews_are_suspected_too(make: Callable[..., Crew], monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers of the search may hold the memory that a drawn case does not find."""
    suspected, room = list[Any](), Room()
    beside = make("", lambda *_, **__: make_observation(), room=room)
    assert _called(beside).ending == "returned"
    made = make("", room=room)

    def take_too_much(workers: Any, call_bytes: int) -> str:
        suspected.extend(workers)
        return "held it all"

    monkeypatch.setattr(crew, "take_too_much", take_too_much)
    assert _called(made).ending == "crashed"
    assert len(suspected) == 2
    assert len(set(map(id, suspected))) == 2


def test_a_device_that_has_too_little_of_it_is_our_own_failure(make: Callable[..., Crew]) -> None:
    with pytest.raises(HarnessError, match="the device has too little memory to judge this case on"):
        _called(make(""))


def test_nobody_is_suspected_where_there_is_enough(make: Callable[..., Crew]) -> None:
    made = make("held it all", lambda *_, **__: make_observation())
    assert _called(made).ending == "returned"
    assert made.has_worker("float32")


def driver_out_of_memory(*_: Any, **__: Any) -> Observation:
    raise RuntimeError("cuMemCreate: out of memory")


@pytest.mark.parametrize("call", [out_of_memory, driver_out_of_memory])
def test_memory_is_short_or_not_whatever_the_error_says(
    make: Callable[..., Crew], call: Callable[..., Observation]
) -> None:
    assert _called(make("held it all", call)).ending == "crashed"
    with pytest.raises(RuntimeError, match="out of memory"):
        _called(make("held it all", call, is_short=False))


def test_a_call_whose_worker_was_ended_for_the_sake_of_another_is_made_again(make: Callable[..., Crew]) -> None:
    """Otherwise a shortage that a call ahead has met would be reported as a crash of the submission."""
    workers = list[Any]()

    def call(worker: Any, *_: Any, **__: Any) -> Observation:
        workers.append(worker)
        worker.is_suspect = len(workers) == 1  # another thread looks for the memory meanwhile
        return make_observation(ending="crashed" if worker.is_suspect else "returned")

    made = make("", call)
    assert _called(made).ending == "returned"
    assert len(workers) == 2
    assert workers[0] is not workers[1]
    assert workers[0].is_closed


def test_a_worker_that_is_ended_time_and_again_is_our_own_failure(make: Callable[..., Crew]) -> None:
    def call(worker: Any, *_: Any, **__: Any) -> Observation:
        worker.is_suspect = True
        return make_observation(ending="crashed")

    with pytest.raises(HarnessError, match="its worker was ended 4 times"):
        _called(make("", call))


def test_a_call_is_made_again_where_the_end_of_workers_has_brought_memory(make: Callable[..., Crew]) -> None:
    calls = list[int]()

    def call(*_: Any, **__: Any) -> Observation:
        calls.append(1)
        return out_of_memory() if len(calls) == 1 else make_observation()

    assert _called(make("", call)).ending == "returned"
    assert len(calls) == 2


def test_a_crash_of_its_own_is_told_at_once(make: Callable[..., Crew]) -> None:
    calls = list[int]()

    def call(*_: Any, **__: Any) -> Observation:
        calls.append(1)
        return make_observation(ending="crashed")

    assert _called(make("", call)).ending == "crashed"
    assert len(calls) == 1


def test_what_is_opened_for_later_is_given_back_before_anybody_is_suspected(
    make: Callable[..., Crew], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise this memory could come back while a suspect dies, and be held against the suspect."""
    asked, calls = list[int](), list[int]()

    def make_room() -> bool:
        asked.append(len(calls))
        return len(asked) == 1

    def call(*_: Any, **__: Any) -> Observation:
        calls.append(1)
        return out_of_memory() if len(calls) == 1 else make_observation()

    made = make("held it all", call, room=Room(make_room))
    workers = list[Worker]()

    def start(*_: Any, **__: Any) -> Worker:
        workers.append(Worker(Arena()))
        return workers[-1]

    monkeypatch.setattr(made._contestant, "start", start)
    assert _called(made).ending == "returned"
    assert asked == [1]
    assert not made._room.is_short
    # The call had been launched, maybe: the worker would wait for a gate that never opens.
    assert [worker.is_closed for worker in workers] == [True, False]


def test_a_call_is_made_alone_where_nobody_is_to_blame(make: Callable[..., Crew]) -> None:
    """The workers of other crews and lanes are gone by then. A worker in use is closed by the thread that calls it."""
    calls, room = list[Any](), Room()
    beside = make("", lambda *_, **__: make_observation(), room=room)
    for lane in (0, 1):
        beside.take_lane(lane)
        assert _called(beside).ending == "returned"
    idle, busy = beside.workers
    beside._called.append(busy)
    seen: Any = busy

    def call(worker: Any, *_: Any, **__: Any) -> Observation:
        calls.append(worker)
        return out_of_memory() if len(calls) == 1 else make_observation()

    made = make("", call, room=room)
    assert _called(made).ending == "returned"
    assert (made.workers, beside.workers) == ([calls[1]], [busy])
    assert [worker.is_closed for worker in (idle, busy, *calls)] == [True, False, True, False]
    assert (seen.is_killed, seen.is_suspect) == (True, True)
    assert room.is_short


@pytest.mark.parametrize("ending", ["raised", "crashed"])
@pytest.mark.parametrize(
    "words",
    [
        "OutOfMemoryError: CUDA out of memory.",
        "CUDA_ERROR_OUT_OF_MEMORY",
        "cudaErrorMemoryAllocation",
        "CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate(handle)",
        "terminate called after throwing an instance of 'std::bad_alloc'",
    ],
)
def test_a_kernel_that_finds_no_memory_is_called_again_alone_and_once(
    make: Callable[..., Crew], ending: Any, words: str
) -> None:
    calls, room = list[int](), Room()

    def call(*_: Any, **__: Any) -> Observation:
        calls.append(1)
        return make_observation(ending=ending, message=words)

    made = make("", call, room=room)
    assert _called(made).ending == ending
    assert (len(calls), room.is_short) == (2, True)
    assert _called(made).ending == ending
    assert len(calls) == 3


def test_a_kernel_that_raises_something_else_is_not_called_again(make: Callable[..., Crew]) -> None:
    calls, room = list[int](), Room()

    def call(*_: Any, **__: Any) -> Observation:
        calls.append(1)
        return make_observation(ending="raised", message="ValueError: rows")

    assert _called(make("", call, room=room)).ending == "raised"
    assert (len(calls), room.is_short) == (1, False)


def test_a_worker_that_finds_no_memory_for_its_context_is_started_again_alone(
    make: Callable[..., Crew], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The idle workers of other crews end before it starts."""
    room = Room()
    beside = make("", lambda *_, **__: make_observation(), room=room)
    assert _called(beside).ending == "returned"
    made = make("", lambda *_, **__: make_observation(), room=room)

    def start(*_: Any, **__: Any) -> Worker:
        if beside.workers:
            raise HarnessError("a worker cannot open the device: out of memory")
        return Worker(Arena())

    monkeypatch.setattr(made._contestant, "start", start)
    assert _called(made).ending == "returned"
    assert room.is_short


def test_an_arena_that_does_not_fit_is_opened_again_when_room_was_made(
    make: Callable[..., Crew], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, closed = list[int](), list[int]()
    arena: Any = SimpleNamespace(close=lambda: closed.append(1))

    def open_arena(device: Any, size_bytes: int, spare_bytes: int) -> Any:
        opened.append(size_bytes)
        if size_bytes == 64 and opened.count(64) in fails:
            raise RuntimeError("cuMemCreate: out of memory")
        return arena

    made = make("", room=Room(lambda: True))
    monkeypatch.setattr(crew, "open_arena", open_arena)
    made.reserve(1)
    fails = {1}
    made.reserve(64)
    assert opened == [1, 64, 64]
    assert closed == [1]
    made._room_bytes, fails = 0, {3, 4}
    with pytest.raises(RuntimeError, match="out of memory"):
        made.reserve(64)
    made.close()  # the closed one is not closed again
    assert closed == [1, 1]


def test_a_call_that_is_to_be_alone_waits_for_workers_that_others_are_starting(make: Callable[..., Crew]) -> None:
    """Workers that are being started cannot be ended yet, and hold a context and an arena each."""
    calls, room, waited = list[int](), Room(), list[int]()

    def call(*_: Any, **__: Any) -> Observation:
        calls.append(room.starting)
        return out_of_memory() if len(calls) == 1 else make_observation()

    made = make("", call, room=room)
    room.starting = 2

    @contextmanager
    def aside() -> Iterator[None]:
        waited.append(1)
        room.starting -= len(waited) in (2, 3)  # the first and the last are for workers of its own
        yield

    made._aside = aside
    assert _called(made).ending == "returned"
    assert calls == [2, 0]


def test_workers_that_are_being_started_are_counted(make: Callable[..., Crew], monkeypatch: pytest.MonkeyPatch) -> None:
    room, counts = Room(), list[int]()
    made = make("", lambda *_, **__: make_observation(), room=room)

    def start(*_: Any, **__: Any) -> Worker:
        counts.append(room.starting)
        if len(counts) == 2:
            raise HarnessError("no device")
        return Worker(Arena())

    monkeypatch.setattr(made._contestant, "start", start)
    monkeypatch.setattr(crew, "is_short", lambda call_bytes: False)
    assert _called(made).ending == "returned"
    made.take_lane(1)
    with pytest.raises(HarnessError, match="no device"):
        _called(made)
    assert (counts, room.starting) == ([1, 1], 0)


def test_nobody_is_waited_for_where_memory_is_known_to_be_short(
    make: Callable[..., Crew], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lock is not given away then, so a start that is under way could not end meanwhile."""
    room, calls = Room(), list[int]()

    def call(*_: Any, **__: Any) -> Observation:
        calls.append(1)
        if len(calls) == 1:
            room.is_short, room.starting = True, 1  # another thread was faster
            return out_of_memory()
        return make_observation()

    made = make("", call, room=room)
    monkeypatch.setattr(time, "sleep", lambda seconds: pytest.fail("waited"))
    assert _called(made).ending == "returned"
