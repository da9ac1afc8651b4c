"""Several workers of one dtype: each lane has its own, and all cases are judged once."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from conftest import Submit
from specimens import make_case, make_observation, make_task

from robust_kbench import contestant
from robust_kbench.cases.suite import BUDGETS, draw_suite
from robust_kbench.cases.values import make_inputs, make_zeros
from robust_kbench.checking import Checked, Checker, crew
from robust_kbench.checking.crew import Crew
from robust_kbench.checking.room import Room
from robust_kbench.devices import open_device
from robust_kbench.isolation.pool import WarmPool
from robust_kbench.oracle.reference import Reference
from robust_kbench.oracle.verdict import Judge
from robust_kbench.registry import load_task
from robust_kbench.schema.case import Case
from robust_kbench.schema.task import FloatDType
from robust_kbench.stopwatch import Stopwatch

TASK, CASE = make_task(), make_case()
SOURCE = """
import torch

def rmsnorm(x, weight):
    y = torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)
    return y.add_(1) if x.shape[0] == 1 else y
"""


def in_thread(work: Callable[[], None]) -> None:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def test_before_a_call_a_worker_gets_what_others_have_compiled_and_afterwards_its_own_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done, arena = list[str](), SimpleNamespace(close=lambda: None)
    arena.for_a_worker = lambda: arena

    def call(*_: Any, **__: Any) -> Any:
        done.append("call")
        return make_observation()

    monkeypatch.setattr(crew, "open_arena", lambda *_: arena)
    monkeypatch.setattr(crew, "open_caller", lambda *_, **__: SimpleNamespace(call=call))
    contestant: Any = SimpleNamespace(
        abi="value",
        start=lambda *_, **__: SimpleNamespace(arena=arena, layers=(), is_suspect=False, close=lambda: None),
        exchange=lambda *_: done.append("exchange"),
        collect=lambda *_: done.append("collect"),
    )
    unused: Any = None
    device: Any = SimpleNamespace(kind="cuda")
    built: Any = SimpleNamespace(path=Path("kernel"), execution="native")
    Crew(TASK, contestant, unused, device, 1.0, Stopwatch()).call(CASE, make_inputs(TASK, CASE), built, None)
    assert done == ["exchange", "call", "collect"]


def test_every_lane_has_a_worker_of_its_own_and_a_thread_without_one_is_in_the_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    called, arena = list[Any](), SimpleNamespace(close=lambda: None)
    arena.for_a_worker = lambda: arena

    def call(worker: Any, *_: Any, **__: Any) -> Any:
        called.append(worker)
        return make_observation(ending="crashed" if len(called) == 4 else "returned")

    def start(*_: Any, **__: Any) -> Any:
        return SimpleNamespace(arena=arena, layers=(), is_suspect=False, close=lambda: None)

    monkeypatch.setattr(crew, "open_arena", lambda *_: arena)
    monkeypatch.setattr(crew, "open_caller", lambda *_, **__: SimpleNamespace(call=call))
    unused: Any = None
    contestant: Any = SimpleNamespace(abi="value", start=start, collect=lambda *_: None, exchange=lambda *_: None)
    device: Any = SimpleNamespace(kind="cuda")
    made = Crew(TASK, contestant, unused, device, 1.0, Stopwatch())
    built: Any = SimpleNamespace(path=Path("kernel"), execution="native")

    def once(lane: int | None = None) -> None:
        if lane is not None:
            made.take_lane(lane)
        made.call(CASE, make_inputs(TASK, CASE), built, None)

    once()
    in_thread(lambda: once(0))
    in_thread(lambda: once(1))
    assert called[0] is called[1] is not called[2]
    in_thread(lambda: once(1))  # it crashes
    assert called[3] is called[2]
    assert made.has_worker("float32")
    in_thread(lambda: once(1))
    assert called[4] is not called[2]
    made.close()
    assert not made.has_worker("float32")


def test_only_a_worker_with_too_little_room_starts_anew_for_a_larger_case(monkeypatch: pytest.MonkeyPatch) -> None:
    started, closed = list[int](), list[int]()
    opened = list[int]()

    def open_arena(device: Any, size_bytes: int, spare_bytes: int) -> Any:
        opened.append(size_bytes + spare_bytes)
        arena = SimpleNamespace(close=lambda: None)
        arena.for_a_worker = lambda: SimpleNamespace(close=lambda: None)
        return arena

    def start(*_: Any, **__: Any) -> Any:
        number = len(started)
        started.append(number)
        arena = SimpleNamespace(close=lambda: None)
        return SimpleNamespace(arena=arena, layers=(), close=lambda: closed.append(number))

    monkeypatch.setattr(crew, "open_arena", open_arena)
    call = SimpleNamespace(call=lambda *_, **__: make_observation())
    monkeypatch.setattr(crew, "open_caller", lambda *_, **__: call)
    unused: Any = None
    contestant: Any = SimpleNamespace(abi="value", collect=lambda *_: None, exchange=lambda *_: None, start=start)
    device: Any = SimpleNamespace(kind="cuda")
    made = Crew(TASK, contestant, unused, device, 1.0, Stopwatch())
    built: Any = SimpleNamespace(path=Path("kernel"), execution="native")
    large = CASE.model_copy(update={"axes": {name: 64 * size for name, size in CASE.axes.items()}})

    def once(lane: int, case: Case) -> None:
        made.take_lane(lane)
        made.call(case, make_inputs(TASK, case), built, None)

    for lane in (0, 1):
        once(lane, CASE)
    assert len(started) == 2
    once(0, large)
    assert (len(started), closed) == (3, [0])
    once(1, CASE)
    assert (len(started), closed) == (3, [0])
    once(1, large)
    assert (len(started), closed) == (4, [0, 1])
    assert len(opened) == 2
    made.close()
    assert sorted(closed) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("language", "dtypes", "free_gib", "call_mib", "lanes"),
    [
        ("triton", 1, 80, 0, 3),
        ("triton", 3, 80, 0, 2),
        ("cuda", 1, 80, 0, 1),
        ("triton", 2, 24, 0, 2),
        ("triton", 2, 7, 0, 1),
        ("triton", 1, 80, 1024, 2),  # two calls, 4 GiB of results, a context, and a call
    ],
)
def test_only_triton_kernels_have_several_workers_of_a_dtype_where_the_device_has_room(
    monkeypatch: pytest.MonkeyPatch, language: str, dtypes: int, free_gib: int, call_mib: int, lanes: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(10)))
    checker: Any = object.__new__(Checker)
    checker._contestant = SimpleNamespace(submission=SimpleNamespace(file=SimpleNamespace(language=language)))
    checker._device = SimpleNamespace(free_bytes=lambda: free_gib << 30)
    checker._room_bytes = call_mib << 20
    assert checker._lanes(dtypes, 0.2) == lanes


def test_all_cases_are_judged_once_in_several_lanes(submit: Submit, monkeypatch: pytest.MonkeyPatch) -> None:
    task, device = load_task("norm/rmsnorm"), open_device("cpu")
    monkeypatch.setattr(device, "starts_at_once", 2, raising=False)
    monkeypatch.setattr(Checker, "_lanes", lambda self, dtypes, share: 3)
    dtypes: tuple[FloatDType, ...] = ("float32", "float16")
    suite = draw_suite(task.spec, 5, budget=BUDGETS["quick"], dtypes=dtypes, device="cpu", dense=False, pinned=())
    cases = [case for dtype in dtypes for case in [each for each in suite.checked if each.dtype == dtype][:6]]
    with WarmPool() as pool:
        built = contestant.build("candidate", submit(SOURCE), task.spec, list(dtypes), device, pool.scratch())
        judge = Judge(task.spec, Reference(task))
        with Checker(
            task.spec, built, judge=judge, pool=pool, device=device, watch=Stopwatch(), tier="quick"
        ) as checker:
            checker.check(cases, lambda *_: None)
    found = sorted((result.dtype, result.seed, result.status) for result in checker.checked.results)
    due = {True: "incorrect", False: "passed"}
    assert found == sorted((case.dtype, case.seed, due[case.axes["rows"] == 1]) for case in cases)


def test_a_call_ahead_has_scalars_of_its_own() -> None:
    """The scalars of calls that are judged later are not known to a worker of the same kernel."""
    task = load_task("random/dropout").spec
    case = make_case(axes=dict(task.timed["cuda"][0]), role="check", seed=11)
    given = list[Any]()

    def call(case: Any, inputs: Any, *_: Any) -> Any:
        given.append((case, inputs.scalars))
        return make_observation()

    checker: Any = object.__new__(Checker)
    checker._task, checker.checked, checker._room = task, Checked(), Room()
    checker._contestant = SimpleNamespace(built={"float32": None})
    assert checker._is_called_ahead(SimpleNamespace(call=call), case)
    assert checker._is_called_ahead(SimpleNamespace(call=call), case)
    later = make_zeros(task, case).scalars
    assert given[0][0] == case
    assert given[0][1] != later != given[1][1]
    assert given[0][1] != given[1][1]
    assert given[0][1].keys() == later.keys()


def test_a_crew_of_calls_ahead_suspects_nobody_else() -> None:
    unused: Any = None
    contestant: Any = SimpleNamespace(
        execution="native", built={}, submission=SimpleNamespace(file=SimpleNamespace(language="triton"))
    )
    checker = Checker(TASK, contestant, judge=unused, pool=unused, device=unused, watch=Stopwatch(), tier="quick")
    ahead = checker._crew_of_its_own(Room())
    assert ahead._room.crews == [ahead]
    assert checker._crew._room is checker._other_crew._room
    assert checker._crew._room.crews == [checker._crew, checker._other_crew]


def test_one_thread_judges_at_a_time_and_waits_for_nobody_where_memory_is_short() -> None:
    unused: Any = None
    contestant: Any = SimpleNamespace(
        execution="native", built={}, submission=SimpleNamespace(file=SimpleNamespace(language="triton"))
    )
    checker = Checker(TASK, contestant, judge=unused, pool=unused, device=unused, watch=Stopwatch(), tier="quick")
    for is_short in (False, True):
        checker._room.is_short = is_short
        with checker._judging, checker._others_judge():
            assert checker._judging.locked() is is_short


def test_nothing_more_is_called_ahead_where_memory_is_short() -> None:
    checker: Any = object.__new__(Checker)
    checker._room, checker.checked = Room(), Checked()
    checker._room.is_short = True
    assert not checker._is_called_ahead(None, CASE)
