"""A stopped worker does nothing, even if it is woken. A process that cannot be stopped soon is no worker."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence

import pytest
import torch
from conftest import Submit

from robust_kbench import contestant
from robust_kbench.cases.values import make_inputs
from robust_kbench.devices import open_device
from robust_kbench.errors import WorkerCrashed
from robust_kbench.isolation import process, processes, schedule
from robust_kbench.isolation.arena import Arena
from robust_kbench.isolation.calls import Caller, case_footprint
from robust_kbench.isolation.pool import WarmPool
from robust_kbench.isolation.process import Worker
from robust_kbench.registry import load_task
from robust_kbench.schema.case import Case

BUSY = """
import threading

def spin():
    while True:
        pass

threading.Thread(target=spin, daemon=True).start()

def rmsnorm(x, weight):
    return x.clone()
"""
TASK = load_task("norm/rmsnorm").spec
CASE = Case(axes={"rows": 8, "cols": 64}, dtype="float32", seed=1)
NOBODY = 2**23  # beyond all process ids


@pytest.fixture
def arena() -> Iterator[Arena]:
    arena = Arena(2 * case_footprint(TASK, CASE))
    yield arena
    arena.close()


@pytest.fixture
def worker(submit: Submit, arena: Arena) -> Iterator[Worker]:
    device = open_device("cpu")
    with WarmPool() as pool:
        built = contestant.build("candidate", submit(BUSY), TASK, ["float32"], device, pool.scratch())
        worker = built.start(pool, arena, device, "float32")
        yield worker
        worker.close()


PAUSE_S = 0.5


def run_on(worker: Worker) -> None:
    """Let the worker run on, as a timer, a dying child or an accomplice would do."""
    if not worker._resting[worker.pid].starts:
        pytest.skip("this kernel does not count how often a thread is put on a processor")
    os.kill(worker.pid, signal.SIGCONT)
    time.sleep(0.02)
    processes.stop([worker.pid])


def test_a_worker_that_stays_stopped_is_called_again(worker: Worker, arena: Arena) -> None:
    caller = Caller(TASK, arena, timeout_s=20)
    for _ in range(3):
        time.sleep(0.02)
        worker.check_parked()
        seen = caller.call(worker, "value", CASE, make_inputs(TASK, CASE))
        assert (seen.ending, seen.message) == ("returned", "")
        assert 0 < seen.stopping_ns < 1_000_000_000


@pytest.mark.parametrize("has_address", [False, True], ids=["before the call", "while the inputs are written"])
def test_a_worker_that_ran_while_it_was_stopped_is_not(worker: Worker, arena: Arena, has_address: bool) -> None:
    def interfere(slots: Sequence[torch.Tensor]) -> None:
        run_on(worker)

    if not has_address:
        run_on(worker)
    caller, evict = Caller(TASK, arena, timeout_s=20), interfere if has_address else None
    seen = caller.call(worker, "value", CASE, make_inputs(TASK, CASE), evict=evict)
    assert (seen.ending, seen.message) == ("crashed", "ran while it was stopped")


def test_nor_is_what_it_left_believed(worker: Worker) -> None:
    run_on(worker)
    with pytest.raises(WorkerCrashed, match="ran while it was stopped"):
        worker.check_parked()
    assert not worker.is_alive()


def test_where_the_kernel_does_not_count_it_nobody_is_accused(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    worker._run()
    monkeypatch.setattr(schedule, "_starts", lambda pid: {})
    worker.park()
    os.kill(worker.pid, signal.SIGCONT)
    time.sleep(0.02)
    processes.stop([worker.pid])
    worker.check_parked()
    assert worker.is_alive()


def pause() -> None:
    time.sleep(PAUSE_S)


def test_the_judges_own_work_lies_between_the_windows_of_a_call(worker: Worker, arena: Arena) -> None:
    caller = Caller(TASK, arena, timeout_s=20)
    seen = caller.call(worker, "value", CASE, make_inputs(TASK, CASE), sweep=pause, evict=lambda _: pause())
    assert seen.rehearsal is not None
    for took_ns in (seen.preparation.took_ns, seen.rehearsal.took_ns, seen.elapsed_ns, seen.stopping_ns):
        assert 0 < took_ns < PAUSE_S * 1e9
    assert seen.used_ns is not None
    assert 0 < min(seen.preparation.used_ns, seen.rehearsal.used_ns, seen.used_ns) < PAUSE_S * 1e9


def test_more_processes_than_are_allowed_are_not_looked_at_one_by_one(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Dead ones, too: a judge that goes through thousands of them leaves the others a long time.
    worker._run()
    family = {worker.pid: list(range(NOBODY, NOBODY + 64))}
    monkeypatch.setattr(processes, "children", lambda pid: family.get(pid, []))
    with pytest.raises(WorkerCrashed, match="started more than 64 processes"):
        worker.park()


def test_a_dead_child_owes_its_parent_no_memory(worker: Worker) -> None:
    with subprocess.Popen(["true"]) as child:
        while processes.state(child.pid) != "Z":
            time.sleep(0.001)
        assert worker._own_bytes(child.pid) == 0
        child.wait()


def test_a_worker_that_is_closed_twice_closes_nothing_of_others(submit: Submit, arena: Arena) -> None:
    device = open_device("cpu")
    with WarmPool() as pool:
        built = contestant.build("candidate", submit(BUSY), TASK, ["float32"], device, pool.scratch())
        worker = built.start(pool, arena, device, "float32")
        worker.close()
        others = [os.memfd_create("others") for _ in range(8)]  # the lowest numbers that are free
        worker.close()
    for descriptor in others:
        os.fstat(descriptor)
        os.close(descriptor)


def test_a_device_that_a_dead_worker_has_sent_to_the_judge_is_let_go(worker: Worker) -> None:
    """A file that lies in the judge's socket is open, and a device's context lives as long as its file."""
    ours, theirs = socket.socketpair()
    channel, worker._channel = worker._channel, ours
    read, write = os.pipe()
    socket.send_fds(theirs, [b"x"], [write])
    os.close(write)
    worker.kill()
    os.set_blocking(read, False)
    assert os.read(read, 1) == b""  # and no BlockingIOError: nobody has the other end
    worker._channel = channel
    for each in (ours, theirs):
        each.close()
    os.close(read)


@pytest.mark.parametrize(("state", "is_gone"), [("Z", True), ("D", False)])
def test_it_is_told_where_the_end_of_a_worker_was_not_seen(
    worker: Worker, monkeypatch: pytest.MonkeyPatch, state: str, is_gone: bool
) -> None:
    monkeypatch.setattr(process, "_LONGEST_END_S", 0.01)
    with monkeypatch.context() as patch:
        patch.setattr(processes, "state", lambda pid: state)
        worker.kill()
    assert worker.is_surely_gone is is_gone
