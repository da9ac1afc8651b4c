"""The worker's view of an input shows the values in any layout of a case, and gaps hold poison."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
from specimens import make_case, make_task

from robust_kbench.cases.values import Inputs, make_inputs
from robust_kbench.isolation import calls, schedule
from robust_kbench.isolation.arena import Arena
from robust_kbench.isolation.calls import Caller, case_footprint
from robust_kbench.isolation.process import Reply
from robust_kbench.isolation.protocol import parse_answer
from robust_kbench.isolation.schedule import Turn
from robust_kbench.schema.case import Case
from robust_kbench.schema.observation import Observation, Window
from robust_kbench.schema.task import Layout, Task

LAYOUTS: list[Layout] = ["contiguous", "offset", "transposed", "strided", "expanded", "pitched", "channels_last"]
IMAGE = make_task(inputs={"x": {"shape": ["rows", "cols", 3, 5], "layouts": LAYOUTS}}, nonfinite="none")
MATRIX = make_task(inputs={"x": {"shape": ["rows", "cols"], "layouts": LAYOUTS}}, nonfinite="none")


class Onlooker:
    """Stand-in for a worker: it looks at its first input as a worker would, and may write behind each row."""

    pid = os.getpid()
    log = ""
    may_start_processes = False

    def __init__(self, arena: Arena, *, scribbles: bool = False) -> None:
        self._arena, self._scribbles = arena, scribbles
        self.seen = torch.empty(0)
        self.span = torch.empty(0)

    def tree(self) -> list[int]:
        return [self.pid]

    def check_parked(self) -> None:
        """Do nothing, as this stand-in is never parked."""

    def call(
        self,
        request: dict[str, Any],
        before_clock: Callable[[], None],
        before_rehearsal: Callable[[], None] | None = None,
        **_: Any,
    ) -> Reply:
        before_clock()
        described = request["inputs"][0]
        start, itemsize = described["offset"], getattr(torch, described["dtype"]).itemsize
        memory = self._arena._bytes[start : start + described["span"] * itemsize]
        self.span = memory.clone().view(getattr(torch, described["dtype"]))
        self.seen = self.span.as_strided(described["shape"], described["stride"])
        if self._scribbles:
            memory[described["shape"][-1] * itemsize] = 0
        return Reply(parse_answer(b'{"nonce": 1, "outcome": "returned", "outputs": []}', 1), 1000)


class Witness(Onlooker):
    """Stand-in for a worker: it looks at its first input before it rehearses and before the clock starts."""

    def call(
        self,
        request: dict[str, Any],
        before_clock: Callable[[], None],
        before_rehearsal: Callable[[], None] | None = None,
        **_: Any,
    ) -> Reply:
        super().call(request, before_rehearsal or (lambda: None))
        self.seen_early = self.seen.clone()
        reply = super().call(request, before_clock)
        rehearsal_ns = None if before_rehearsal is None else 200_000
        return replace(
            reply, elapsed_ns=500_000, preparation_ns=90_000, rehearsal_ns=rehearsal_ns, stopping_ns=70_000,
            judge_waited_ns=40_000,
        )  # fmt: skip


@pytest.mark.parametrize("is_by_address", [False, True])
def test_inputs_are_there_when_the_clock_starts_and_not_earlier(is_by_address: bool) -> None:
    task, case = make_task(), make_case()
    arena, events = Arena(case_footprint(task, case)), list[str]()
    try:
        worker: Any = Witness(arena)
        inputs = make_inputs(task, case)

        def evict(slots: Sequence[torch.Tensor]) -> None:
            events.append(f"evict {len(slots)}")

        caller = Caller(task, arena, timeout_s=1)
        caller.call(
            worker, "value", case, inputs, sweep=lambda: events.append("sweep"), evict=evict if is_by_address else None
        )
    finally:
        arena.close()
    given = inputs.tensors[next(iter(task.inputs))]
    assert torch.equal(worker.seen, given)
    assert not torch.equal(worker.seen_early, given)
    inputs_alone = len(task.tensors) - len(task.outputs)
    assert events == (["sweep", f"evict {inputs_alone}"] if is_by_address else ["sweep"])


@pytest.mark.parametrize("gone", [False, True], ids=["all are there", "a child is gone"])
def test_what_was_used_is_told_by_window_and_for_the_call(monkeypatch: pytest.MonkeyPatch, gone: bool) -> None:
    task, case = make_task(), make_case()
    looks = [Turn(True, 1, ran_ns=used, waited_ns=used // 10) for used in (10_000, 90_000, 240_000, 900_000)]
    turns = iter([*looks[:2], replace(looks[2], children_ns={7: 1} if gone else {}), looks[3]])
    monkeypatch.setattr(schedule, "look", lambda *_: next(turns))
    arena = Arena(case_footprint(task, case))
    try:
        worker: Any = Witness(arena)
        caller = Caller(task, arena, timeout_s=1)
        seen = caller.call(worker, "value", case, make_inputs(task, case), evict=lambda slots: None)
    finally:
        arena.close()
    assert seen.preparation == Window(took_ns=90_000, used_ns=80_000)
    assert seen.rehearsal == Window(took_ns=200_000, used_ns=150_000 + gone)
    assert (seen.elapsed_ns, seen.waited_ns, seen.stopping_ns) == (500_000 - 40_000, 66_000, 70_000)
    assert seen.used_ns == (None if gone else 660_000)


def _look(task: Task, case: Case, *, scribbles: bool = False) -> tuple[Onlooker, Inputs, Observation]:
    arena = Arena(case_footprint(task, case))
    try:
        inputs, worker = make_inputs(task, case), Onlooker(arena, scribbles=scribbles)
        stand_in: Any = worker
        observation = Caller(task, arena, timeout_s=1).call(stand_in, "value", case, inputs)
    finally:
        arena.close()
    return worker, inputs, observation


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("task", "rows", "cols"), [(MATRIX, 4, 8), (MATRIX, 3, 1), (IMAGE, 2, 3)])
def test_a_worker_sees_the_values_in_every_layout(task: Task, rows: int, cols: int, layout: Layout, dtype: str) -> None:
    worker, inputs, observation = _look(task, make_case(axes={"rows": rows, "cols": cols}, layout=layout, dtype=dtype))
    assert torch.equal(worker.seen, inputs.tensors["x"])
    assert (observation.changed_inputs, observation.overruns) == ((), {})


@pytest.mark.parametrize("layout", LAYOUTS)
def test_an_empty_input_has_a_place_in_every_layout(layout: Layout) -> None:
    task = make_task(
        **{**MATRIX.model_dump(exclude_unset=True), "axes": {"rows": {"low": 0, "high": 64}, "cols": {"high": 64}}}
    )
    worker, inputs, _ = _look(task, make_case(axes={"rows": 0, "cols": 8}, layout=layout, probe="empty"))
    assert worker.seen.shape == inputs.tensors["x"].shape == (0, 8)


def test_the_rest_of_a_pitched_row_is_poison() -> None:
    worker, _, _ = _look(MATRIX, make_case(layout="pitched"))
    assert worker.seen.stride() == (11, 1)
    rows = torch.nn.functional.pad(worker.span, (0, 3), value=torch.nan).reshape(4, 11)
    assert bool(rows[:, 8:].isnan().all())


def test_a_write_behind_a_pitched_row_changes_the_input() -> None:
    _, _, observation = _look(MATRIX, make_case(layout="pitched"), scribbles=True)
    assert observation.changed_inputs == ("x",)


def test_an_image_lies_channels_last_as_pytorch_has_it() -> None:
    worker, _, _ = _look(IMAGE, make_case(axes={"rows": 2, "cols": 4}, layout="channels_last"))
    assert worker.seen.is_contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize("start", [0, 8, 4, 2, 1])
@pytest.mark.parametrize("size", [0, 24, 20, 22, 23])
def test_bytes_are_compared_in_words_wherever_they_lie(start: int, size: int) -> None:
    content = torch.full((64,), 0xFF, dtype=torch.uint8)[start : start + size]  # NaN in every float dtype
    shared = torch.full((64,), 0xFF, dtype=torch.uint8)[8 : 8 + size]
    assert calls._same(shared, content)
    for place in range(size):
        spoilt = shared.clone()
        spoilt[place] = 0xFE
        assert not calls._same(spoilt, content)
