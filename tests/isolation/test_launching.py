"""Launches, and what follows them, between the judge and a real worker; the submission puts a device of its own there.

A worker on the cpu device launches nothing, so this one replaces how a call is prepared. It does as the request says.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from conftest import Submit

from robust_kbench import contestant
from robust_kbench.devices import open_device
from robust_kbench.errors import WorkerCrashed, WorkerTimedOut
from robust_kbench.isolation import processes
from robust_kbench.isolation.arena import Arena
from robust_kbench.isolation.pool import WarmPool
from robust_kbench.isolation.process import Worker
from robust_kbench.isolation.protocol import Raised, Returned
from robust_kbench.registry import load_task
from robust_kbench.worker import wire

LAUNCHING = """
import os
import time

from robust_kbench.worker import devices


class Call:
    def __init__(self, request):
        self._request = request

    def receive(self, scalars):
        self._seed = scalars[0]

    def take_turn(self, turn, gate):
        self._turn = f"{turn} at {gate}"

    def launch(self, kernel):
        print("launching", flush=True)
        time.sleep(self._request.get("launch_s", 0))
        if self._request.get("does") == "raise":
            raise ValueError("boo")
        if self._request.get("does") == "die":
            os._exit(7)
        if self._request.get("does") == "forge":
            return {"outcome": "loaded"}
        return {"outcome": "returned", "outputs": [{"type": str(self._seed)}, {"type": self._turn}]}

    def finish(self):
        print("finishing", flush=True)
        time.sleep(self._request.get("finish_s", 0))
        if self._request.get("does") == "spoil":
            raise RuntimeError("an illegal memory access")
        return 5 if self._request.get("events") else 0


devices.CpuDevice.prepare = lambda self, abi, memory, request: Call(request)


def rmsnorm(x, weight):
    return x
"""
TASK = load_task("norm/rmsnorm").spec
LONG_S = 30.0
TURN = wire.pack_turn(4711, 640)
_SEED = {0: "int64"}


@pytest.fixture(scope="module")
def pool() -> Iterator[WarmPool]:
    with WarmPool() as shared:
        yield shared


@pytest.fixture(params=["spin", "blocking"])
def worker(request: pytest.FixtureRequest, submit: Submit, pool: WarmPool) -> Iterator[Worker]:
    device, arena = open_device("cpu"), Arena(1 << 16)
    device.handshake = request.param
    built = contestant.build("candidate", submit(LAUNCHING), TASK, ["float32"], device, pool.scratch())
    worker = built.start(pool, arena, device, "float32")
    yield worker
    worker.close()
    arena.close()


def requested(**changes: Any) -> dict[str, Any]:
    return {"inputs": [{"scalar": "int64"}], "outputs": [], "axes": [], "dtype": "float32", "waits": False, **changes}


def seed(value: int) -> bytes:
    return wire.pack_scalars(_SEED, {0: value})


def later() -> float:
    return time.monotonic() + LONG_S


def is_stopped(worker: Worker) -> bool:
    return processes.state(worker.pid) == "T"


def seed_of(answer: Returned | Raised | None) -> str:
    """The scalar that the worker had when it launched."""
    assert isinstance(answer, Returned)
    return answer.outputs[0].type


def turn_of(answer: Returned | Raised | None) -> str:
    """The turn that it had then, and the place of its gate."""
    assert isinstance(answer, Returned)
    return answer.outputs[1].type


def test_a_worker_is_stopped_behind_its_launch_and_runs_on_only_to_finish(worker: Worker) -> None:
    for number in range(3):
        assert seed_of(worker.launch(requested(events=True), TURN, seed(number), within_s=LONG_S)) == str(number)
        assert is_stopped(worker)
        worker.check_parked()
        assert worker.finish(later()) == 5
        assert is_stopped(worker)


def test_a_launch_that_does_not_come_back_in_time_runs_on_and_is_waited_for(worker: Worker) -> None:
    assert worker.launch(requested(launch_s=0.4), TURN, seed(3), within_s=0.05) is None
    assert not is_stopped(worker)
    assert seed_of(worker.launched(later())) == "3"
    assert is_stopped(worker)
    assert worker.finish(later()) == 0


def test_a_prepared_call_is_launched_when_it_is_armed_and_has_its_scalars_then(worker: Worker) -> None:
    for number in (11, 12):
        before = worker.log.count("launching")
        worker.prepare(requested(waits=True), timeout_s=LONG_S)
        assert is_stopped(worker)
        worker.go_on()
        time.sleep(0.1)
        worker.park()
        assert worker.log.count("launching") == before
        worker.go_on()
        worker.arm(TURN, seed(number))
        assert seed_of(worker.launched(later())) == str(number)
        assert is_stopped(worker)
        worker.finish(later())


def test_a_worker_learns_its_turn_and_the_place_of_its_gate_when_it_is_armed_and_not_before(worker: Worker) -> None:
    assert turn_of(worker.launch(requested(), wire.pack_turn(99, 0), seed(1), within_s=LONG_S)) == "99 at 0"
    worker.finish(later())
    worker.prepare(requested(waits=True), timeout_s=LONG_S)
    assert wire.unpack_turn(worker._control) == (0, 0)  # nor does it keep that of the call before
    worker.go_on()
    assert wire.unpack_turn(worker._control) == (0, 0)
    worker.arm(TURN, seed(2))
    assert turn_of(worker.launched(later())) == "4711 at 640"
    worker.finish(later())


def test_the_judge_asks_for_its_turn_before_it_reads_the_answer_and_before_it_stops_the_worker(worker: Worker) -> None:
    noted: list[object] = []

    def note(answer: Returned | Raised) -> None:
        noted.append((seed_of(answer), is_stopped(worker)))

    worker.prepare(requested(waits=True), timeout_s=LONG_S)
    worker.go_on()
    worker.arm(TURN, seed(5))
    assert seed_of(worker.launched(later(), lambda: noted.append(is_stopped(worker)), note)) == "5"
    assert noted == [False, ("5", False)]
    assert is_stopped(worker)
    worker.finish(later())


def test_launches_of_both_kinds_follow_each_other(worker: Worker) -> None:
    for number in range(4):
        if number % 2:
            worker.prepare(requested(waits=True), timeout_s=LONG_S)
            worker.go_on()
            worker.arm(TURN, seed(number))
            answer: Returned | Raised | None = worker.launched(later())
        else:
            answer = worker.launch(requested(), TURN, seed(number), within_s=LONG_S)
        assert seed_of(answer) == str(number)
        worker.finish(later())


def test_a_stopped_worker_can_be_let_on_before_it_has_to_finish(worker: Worker) -> None:
    worker.launch(requested(finish_s=0.2), TURN, seed(1), within_s=LONG_S)
    assert is_stopped(worker)
    deadline = later()
    while worker._words[wire.DONE] != worker._nonce and time.monotonic() < deadline:
        worker.go_on()
        assert not is_stopped(worker)
    worker.finish(deadline)
    assert is_stopped(worker)


def test_an_exception_is_told_behind_the_launch_and_the_worker_goes_on(worker: Worker) -> None:
    answer = worker.launch(requested(does="raise"), TURN, seed(1), within_s=LONG_S)
    assert isinstance(answer, Raised)
    assert (answer.type, answer.message) == ("ValueError", "boo")
    worker.finish(later())
    assert seed_of(worker.launch(requested(), TURN, seed(2), within_s=LONG_S)) == "2"
    worker.finish(later())


@pytest.mark.parametrize("has_events", [True, False])
def test_an_answer_is_written_once_since_the_judge_may_read_it_while_the_worker_runs(
    worker: Worker, has_events: bool
) -> None:
    worker.launch(requested(events=has_events), TURN, seed(1), within_s=LONG_S)
    written = slice(wire.LENGTH_OFFSET, wire.LENGTH_OFFSET + 4), slice(wire.REPLY_OFFSET, wire.REPLY_OFFSET + 64)
    for place in written:
        worker._control[place] = bytes(place.stop - place.start)
    worker.finish(later())
    assert not any(any(worker._control[place]) for place in written)


def test_a_worker_that_dies_while_it_launches_has_crashed(worker: Worker) -> None:
    with pytest.raises(WorkerCrashed, match="ended by itself with exit code 7 before it had answered"):
        worker.launch(requested(does="die"), TURN, seed(1), within_s=LONG_S)


def test_what_the_device_complains_of_ends_the_worker_and_is_in_its_log(worker: Worker) -> None:
    worker.launch(requested(does="spoil"), TURN, seed(1), within_s=LONG_S)
    with pytest.raises(WorkerCrashed, match="ended by itself with exit code 1") as caught:
        worker.finish(later())
    assert "an illegal memory access" in caught.value.log


def test_an_answer_of_another_kind_is_a_broken_protocol(worker: Worker) -> None:
    with pytest.raises(WorkerCrashed, match="broke the protocol: it answered a call with something else"):
        worker.launch(requested(does="forge"), TURN, seed(1), within_s=LONG_S)
    assert not worker.is_alive()


def test_a_worker_may_open_its_device_before_it_loads_anything(submit: Submit, pool: WarmPool) -> None:
    device, arena = open_device("cpu"), Arena(1 << 16)
    built = contestant.build("candidate", submit(LAUNCHING), TASK, ["float32"], device, pool.scratch())
    worker = built.open(pool, arena, device, ["float32"])
    try:
        worker.open("cpu", spin=False, timeout_s=LONG_S)
        assert is_stopped(worker)
        built.load(worker, device, ["float32"])
        assert seed_of(worker.launch(requested(), TURN, seed(8), within_s=LONG_S)) == "8"
        worker.finish(later())
    finally:
        worker.close()
        arena.close()


def test_a_worker_that_is_gone_is_not_killed_again(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its process ids may be another worker's by then."""
    worker.kill()
    sent = list[Any]()
    monkeypatch.setattr(processes, "send", lambda pids, which: sent.append(pids))
    monkeypatch.setattr(processes, "kill_tree", sent.append)
    worker.kill()
    assert sent == []


@pytest.mark.parametrize("step", ["launched", "finish"])
def test_a_worker_that_does_not_come_back_at_all_is_killed(worker: Worker, step: str) -> None:
    is_first = step == "launched"
    asked = requested(**{"launch_s" if is_first else "finish_s": LONG_S})
    worker.launch(asked, TURN, seed(1), within_s=0.05 if is_first else LONG_S)
    with pytest.raises(WorkerTimedOut, match="gave no answer in time while running the kernel"):
        getattr(worker, step)(time.monotonic() + 0.1)
    assert not worker.is_alive()
