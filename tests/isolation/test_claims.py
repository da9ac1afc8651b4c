"""A worker's claim about its own answer is held against the judge's knowledge; no worker runs here."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from specimens import make_case, make_task

from robust_kbench.cases.values import make_inputs
from robust_kbench.errors import WorkerCrashed
from robust_kbench.isolation import schedule
from robust_kbench.isolation.arena import Arena, Slot
from robust_kbench.isolation.calls import Caller, case_footprint
from robust_kbench.isolation.process import Reply
from robust_kbench.isolation.protocol import parse_answer
from robust_kbench.isolation.resident import Used
from robust_kbench.isolation.schedule import Turn
from robust_kbench.schema.case import Case
from robust_kbench.schema.observation import Observation

TASK, CASE = make_task(), make_case()
VALUES = torch.arange(32, dtype=torch.float32)
MEMORY = VALUES.clone()
"""Memory of the worker that does not run. The judge spoils the part that it has read."""
CLAIM = {"type": "Tensor", "dtype": "float32", "device": "cpu", "shape": [4, 8], "stride": [8, 1]}


class Liar:
    """Stand-in for a worker: this process, and an answer of our choosing."""

    pid = os.getpid()
    log = ""
    may_start_processes = False

    def __init__(self, answer: dict[str, Any]) -> None:
        body = '{"nonce": 1, "outcome": "returned", ' + str(answer).replace("'", '"')[1:]
        self._answer = parse_answer(body.encode(), 1)
        self.used = Used()

    def tree(self) -> list[int]:
        return [self.pid]

    def check_parked(self) -> None:
        """Do nothing, as this process is never parked."""

    def call(self, request: dict[str, Any], fill: Callable[[], None], *_: object, **__: object) -> Reply:
        fill()
        return Reply(self._answer, elapsed_ns=1000, stopping_ns=70_000)


@pytest.fixture
def arena() -> Iterator[Arena]:
    MEMORY.copy_(VALUES)
    arena = Arena(2 * case_footprint(TASK, CASE))
    yield arena
    arena.close()


def _observe(
    arena: Arena, *claims: dict[str, Any], case: Case = CASE, is_read: bool = True, **answer: Any
) -> Observation:
    caller = Caller(TASK, arena, copy_out=False, timeout_s=1)
    worker: Any = Liar({"outputs": list(claims), **answer})
    return caller.call(worker, "value", case, make_inputs(TASK, case), is_read=is_read)


def test_a_true_claim_is_read_from_the_memory_of_the_worker(arena: Arena) -> None:
    seen = _observe(arena, {**CLAIM, "pointer": MEMORY.data_ptr()})
    assert (seen.problems, seen.ending) == ((), "returned")
    assert torch.equal(seen.outputs["y"], VALUES.reshape(4, 8))


def test_what_was_read_is_spoilt(arena: Arena) -> None:
    _observe(arena, {**CLAIM, "pointer": MEMORY.data_ptr()})
    assert bool(MEMORY.isnan().any())


def test_a_result_that_is_not_read_is_left_alone_and_its_form_is_looked_at(arena: Arena) -> None:
    claim = {**CLAIM, "pointer": MEMORY.data_ptr()}
    seen = _observe(arena, claim, is_read=False)
    assert (seen.outputs, seen.problems, seen.ending) == ({}, (), "returned")
    assert torch.equal(MEMORY, VALUES)
    assert _observe(arena, {**claim, "shape": [8, 4]}, is_read=False).problems


@pytest.mark.parametrize("is_read", [True, False])
def test_a_result_that_was_written_to_a_slot_is_not_there_for_the_next_worker(is_read: bool, arena: Arena) -> None:
    written = list[Slot]()

    class Writer(Liar):
        def call(self, request: dict[str, Any], fill: Callable[[], None], *_: object, **__: object) -> Reply:
            reply = super().call(request, fill)
            (output,) = request["outputs"]
            slot = Slot("float32", (4, 8), (8, 1), output["offset"], 32, 4)
            arena.bytes_of(slot).view(torch.float32).copy_(VALUES)
            written.append(slot)
            return reply

    worker: Any = Writer({"outputs": []})
    caller = Caller(TASK, arena, copy_out=False, timeout_s=1)
    seen = caller.call(worker, "destination", CASE, make_inputs(TASK, CASE), is_read=is_read)
    assert list(seen.outputs) == (["y"] if is_read else [])
    assert bool(arena.bytes_of(written[0]).view(torch.float32).isnan().all())


def test_a_claim_of_a_transposed_tensor_is_read_through_its_strides(arena: Arena) -> None:
    seen = _observe(arena, {**CLAIM, "stride": [1, 4], "pointer": MEMORY.data_ptr()})
    assert torch.equal(seen.outputs["y"], VALUES.reshape(8, 4).T)


def test_a_claim_of_a_part_of_a_padded_buffer_is_read(arena: Arena) -> None:
    """Kernels that work in chunks return one position of 64, or of 256."""
    buffer = torch.arange(4.0 * 2048).reshape(4, 2048)
    values = buffer.clone()
    seen = _observe(arena, {**CLAIM, "stride": [2048, 1], "pointer": buffer.data_ptr()})
    assert seen.problems == ()
    assert torch.equal(seen.outputs["y"], values[:, :8])


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"type": "Subclass"}, "returned a Subclass; expected a plain torch.Tensor"),
        ({"device": "cuda"}, "returned a tensor on 'cuda'; expected one on 'cpu'"),
        ({"device": "meta"}, "returned a tensor on 'meta'; expected one on 'cpu'"),
        ({"shape": [8, 4]}, "returned shape [8, 4]; expected [4, 8]"),
        ({"shape": [4, 8, 1], "stride": [8, 1, 1]}, "returned shape [4, 8, 1]; expected [4, 8]"),
        ({"dtype": "float16"}, "returned float16; expected float32"),
        ({"stride": [8]}, "returned a tensor without strided memory; expected a dense one"),
        ({"stride": [10**7, 1]}, "returned a view with strides [10000000, 1]; return a dense tensor"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_a_claim_that_contradicts_the_task_is_a_problem(changes: dict[str, Any], problem: str, arena: Arena) -> None:
    seen = _observe(arena, {**CLAIM, "pointer": MEMORY.data_ptr(), **changes})
    assert seen.problems == (f"y: {problem}",)
    assert seen.outputs == {}


@pytest.mark.parametrize("count", [0, 2])
def test_another_number_of_outputs_is_a_problem(count: int, arena: Arena) -> None:
    seen = _observe(arena, *[{**CLAIM, "pointer": MEMORY.data_ptr()}] * count)
    assert seen.problems == (f"returned {count} values, expected 1: y",)


@pytest.mark.parametrize("pointer", [0, 8, 2**47, 2**63 - 1, 2**63, 2**70, -1], ids=hex)
def test_a_pointer_to_nowhere_is_a_problem_of_the_submission_and_not_of_ours(pointer: int, arena: Arena) -> None:
    # The answer may be refused as a whole, as ValueError, which ends the worker as crashed.
    try:
        seen = _observe(arena, {**CLAIM, "pointer": pointer})
    except ValueError:
        return
    assert len(seen.problems) == 1
    assert seen.problems[0].startswith("y: its memory cannot be read")


def test_a_stride_that_no_memory_has_is_a_problem(arena: Arena) -> None:
    seen = _observe(arena, {**CLAIM, "stride": [2**40, 1], "pointer": MEMORY.data_ptr()})
    assert len(seen.problems) == 1


@pytest.mark.parametrize("stride", [2**62, 10**30], ids=hex)
def test_the_stride_of_an_axis_of_one_is_not_trusted_either(stride: int, arena: Arena) -> None:
    case = make_case(axes={"rows": 1, "cols": 8})
    claim = {**CLAIM, "shape": [1, 8], "stride": [stride, 1], "pointer": MEMORY.data_ptr()}
    try:
        seen = _observe(arena, claim, case=case)
    except ValueError:
        return
    assert seen.problems or torch.equal(seen.outputs["y"], VALUES[:8].reshape(1, 8))


def test_the_times_of_an_observation_are_those_of_the_judge(arena: Arena) -> None:
    seen = _observe(arena, {**CLAIM, "pointer": MEMORY.data_ptr()})
    assert (seen.elapsed_ns, seen.stopping_ns) == (1000, 70_000)
    assert seen.rehearsal is None  # nothing was timed


@pytest.mark.parametrize(
    ("may_start", "last_pid", "may_miss"), [(True, 901, True), (True, 900, False), (False, 901, False)]
)
def test_an_id_that_was_given_away_may_be_that_of_a_process_where_processes_may_be_started(
    may_start: bool, last_pid: int, may_miss: bool, arena: Arena, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = iter([*[Turn(True, 900)] * 2, Turn(True, last_pid)])
    monkeypatch.setattr(schedule, "look", lambda *_: next(turns))
    monkeypatch.setattr(Liar, "may_start_processes", may_start)
    seen = _observe(arena, {**CLAIM, "pointer": MEMORY.data_ptr()})
    assert (seen.preparation.may_miss, seen.may_miss) == (False, may_miss)


def test_what_a_worker_left_that_ran_while_it_was_stopped_is_not_believed(
    arena: Arena, monkeypatch: pytest.MonkeyPatch
) -> None:
    def accuse(worker: Liar) -> None:
        raise WorkerCrashed("ran while it was stopped", "")

    monkeypatch.setattr(Liar, "check_parked", accuse)
    seen = _observe(arena, {**CLAIM, "pointer": MEMORY.data_ptr()})
    assert (seen.ending, seen.message, seen.outputs) == ("crashed", "ran while it was stopped", {})
