"""What a worker on a CUDA device tells beside its outputs becomes facts of an observation, and of no other device's."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from specimens import make_case, make_task

from robust_kbench.cases.values import make_inputs
from robust_kbench.isolation import schedule
from robust_kbench.isolation.arena import Arena
from robust_kbench.isolation.calls import Caller, case_footprint
from robust_kbench.isolation.process import Reply
from robust_kbench.isolation.protocol import MAX_ACTIVITIES, parse_answer
from robust_kbench.isolation.schedule import Turn
from robust_kbench.schema.agreement import Activity, Audit, Calibration
from robust_kbench.schema.observation import Observation
from robust_kbench.schema.task import DeviceKind

TASK, CASE = make_task(), make_case()
CALIBRATION = {"event_ns": 1, "launch_ns": 2, "wall_gap_ns": 3, "join_gap_ns": 4, "spread_ns": 5}
DONE = {"kind": "kernel", "name": "k", "start_ns": 5, "end_ns": 9, "stream": 7, "grid": [1, 2, 3], "block": [32, 1, 1]}
AUDIT = {"activities": [DONE], "start_ns": 4, "stop_ns": 10, "has_markers": True, "dropped": 2}
TOLD: dict[str, Any] = {
    "event_ns": 400,
    "join_ns": 410,
    "wall_ns": 420,
    "host_ns": 30,
    "first_wall_ns": 9_000,
    "device_bytes_before": 1 << 30,
    "device_bytes_after": 2 << 30,
    "hot_ns": [7, 8],
    "batch_ns": [5, 6],
    "calibration": CALIBRATION,
    "audit": AUDIT,
}


class Liar:
    """Stands in for a worker: this process, and an answer of our choosing."""

    pid = os.getpid()
    log = ""
    may_start_processes = False

    def __init__(self, answer: dict[str, Any]) -> None:
        self.asked: dict[str, Any] = {}
        body = {"nonce": 1, "outcome": "returned", "outputs": [], **answer}
        self._answer = parse_answer(json.dumps(body).encode(), 1)

    def tree(self) -> list[int]:
        return [self.pid]

    def check_parked(self) -> None:
        """It never is."""

    def call(self, request: dict[str, Any], fill: Callable[[], None], **_: object) -> Reply:
        self.asked = request
        fill()
        return Reply(self._answer, elapsed_ns=1000, wake_ns=5_000_000, queued_ns=600)


@pytest.fixture
def arena() -> Iterator[Arena]:
    arena = Arena(2 * case_footprint(TASK, CASE))
    yield arena
    arena.close()


def observe(arena: Arena, device: DeviceKind = "cuda", more: dict[str, Any] | None = None, **told: Any) -> Observation:
    caller = Caller(TASK, arena, device=device, copy_out=device == "cuda", timeout_s=1)
    worker: Any = Liar(told)
    return caller.call(worker, "destination", CASE, make_inputs(TASK, CASE), more=more)


def test_what_a_worker_on_a_device_tells_is_carried_over(arena: Arena) -> None:
    seen = observe(arena, **TOLD)
    plain = [name for name in TOLD if name not in ("hot_ns", "batch_ns", "calibration", "audit")]
    assert {name: getattr(seen, name) for name in plain} == {name: TOLD[name] for name in plain}
    assert (seen.hot_ns, seen.batch_ns) == ((7, 8), (5, 6))
    assert seen.calibration == Calibration(1, 2, 3, 4, 5)
    assert seen.audit == Audit((Activity("kernel", "k", 5, 9, 7, (1, 2, 3), (32, 1, 1)),), 4, 10, True, 2)


@pytest.mark.parametrize(("role", "place"), [("timed", "meta"), ("check", "cpu")])
def test_answers_of_timed_calls_come_to_where_they_are_judged(arena: Arena, role: str, place: str) -> None:
    caller = Caller(TASK, arena, device="cuda", copy_out=True, timeout_s=1, place="meta")
    worker: Any = Liar({})
    case = CASE.model_copy(update={"role": role})
    seen = caller.call(worker, "destination", case, make_inputs(TASK, case))
    assert {name: tensor.device.type for name, tensor in seen.outputs.items()} == {"y": place}


def test_a_worker_on_the_processor_has_no_say_in_any_of_it(arena: Arena) -> None:
    seen = observe(arena, "cpu", **TOLD, overruns=[{"tensor": 0, "distance": 4}])
    assert all(getattr(seen, name) in (None, ()) for name in TOLD)
    assert seen.overruns == {}


def test_a_write_outside_a_tensor_in_device_memory_is_told_by_the_tensors_name(arena: Arena) -> None:
    overruns = [{"tensor": 2, "distance": 8}, {"tensor": 1, "distance": -4}, {"tensor": 63, "distance": 1}]
    assert observe(arena, overruns=overruns).overruns == {"y": 8, "weight": -4}


@pytest.mark.parametrize(
    "told",
    [
        {"audit": {**AUDIT, "activities": [DONE] * (MAX_ACTIVITIES + 1)}},
        {"audit": {**AUDIT, "activities": [{**DONE, "kind": "sleep"}]}},
        {"audit": {**AUDIT, "activities": [{**DONE, "start_ns": -1}]}},
        {"audit": {**AUDIT, "activities": [{**DONE, "name": "\udcff"}]}},
        {"calibration": {**CALIBRATION, "spread_ns": 0.5}},
        {"overruns": [{"tensor": 0, "distance": 5000}]},
        {"hot_ns": [1] * 513},
        {"join_ns": -1},
    ],
    ids=lambda told: next(iter(told)),
)
def test_facts_outside_the_protocol_are_refused(told: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="^not an answer: "):
        Liar(told)


def test_the_largest_answer_fits_into_the_control_page() -> None:
    from robust_kbench.worker import wire

    done = {**DONE, "name": "k" * 120, "start_ns": 2**53, "end_ns": 2**53, "grid": [2**31] * 3}
    told = {**TOLD, "hot_ns": [10**9] * 512, "batch_ns": [10**9] * 512, "audit": {**AUDIT, "activities": [done] * 128}}
    assert len(json.dumps(told, separators=(",", ":"))) < wire.REPLY_BYTES - 8192  # and sixteen outputs


def test_a_device_is_asked_for_more_than_one_call(arena: Arena) -> None:
    caller = Caller(TASK, arena, device="cuda", copy_out=True, timeout_s=1)
    worker: Any = Liar({})
    caller.call(worker, "destination", CASE, make_inputs(TASK, CASE), more={"hot": 20, "inputs": "forged"})
    assert worker.asked["hot"] == 20
    assert len(worker.asked["inputs"]) == 2


def test_threads_are_counted_from_before_the_call_to_its_end_and_waiting_until_it_was_armed(
    arena: Arena, monkeypatch: pytest.MonkeyPatch
) -> None:
    early = [Turn(True, 1, threads=2, waited_ns=30)] * 2
    turns = iter([*early, Turn(True, 1, threads=3, waited_ns=100), Turn(True, 1, threads=5, waited_ns=850)])
    monkeypatch.setattr(schedule, "look", lambda *_: next(turns))
    seen = observe(arena)
    assert (seen.waited_ns, seen.waking_ns) == (500, 5_000_000 - 500)
    assert (seen.threads_before, seen.threads_after) == (3, 5)
