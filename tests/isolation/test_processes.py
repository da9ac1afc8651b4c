from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from robust_kbench.isolation import processes

# A shell with two children, one of which has a child of its own.
TREE = "(sleep 60 & wait) & sleep 60 & wait"
SIZE = 4
WRITING = """
import mmap, os
from robust_kbench.isolation import processes

before = processes.private_bytes(os.getpid())
written = bytearray(os.urandom(64 << 20))
shared = mmap.mmap(-1, 64 << 20)
shared[:] = bytes(written)
print(processes.private_bytes(os.getpid()) - before)
"""


@pytest.fixture
def root() -> Iterator[int]:
    process = subprocess.Popen(["/bin/sh", "-c", TREE], start_new_session=True)
    _wait_until(lambda: len(processes.tree(process.pid)) == SIZE)
    yield process.pid
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _wait_until(condition: Callable[[], bool], timeout_s: float = 5.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "timed out"
        time.sleep(0.002)


def _states(pids: list[int]) -> set[str]:
    return {processes.state(pid) for pid in pids}


def test_a_tree_is_a_process_and_all_its_descendants(root: int) -> None:
    members = processes.tree(root)
    assert members[0] == root
    assert len(set(members)) == SIZE
    assert os.getpid() not in members


def test_the_tree_of_a_process_without_children_is_itself(root: int) -> None:
    leaf = processes.tree(root)[-1]
    assert processes.tree(leaf) == [leaf]


def test_stopping_returns_when_every_process_is_stopped_and_resuming_lets_them_go_on(root: int) -> None:
    members = processes.tree(root)
    processes.stop(members)
    assert _states(members) == {"T"}
    processes.resume(members)
    _wait_until(lambda: "T" not in _states(members))
    # "D": a process that was just woken may be waiting for a page of its memory.
    assert _states(members) <= {"R", "S", "D"}


def test_stopping_what_is_stopped_already_is_no_error(root: int) -> None:
    processes.stop([root])
    processes.stop([root])
    assert processes.state(root) == "T"


def test_stopping_only_some_leaves_the_others_running(root: int) -> None:
    first, *others = processes.tree(root)
    processes.stop([first])
    assert "T" not in _states(others)


def test_killing_a_tree_leaves_nobody_of_it(root: int) -> None:
    members = processes.tree(root)
    processes.kill_tree(root)
    _wait_until(lambda: _states(members) <= {"Z", "X"})


def test_a_stopped_tree_can_be_killed(root: int) -> None:
    members = processes.tree(root)
    processes.stop(members)
    processes.kill_tree(root)
    _wait_until(lambda: _states(members) <= {"Z", "X"})


def test_a_process_that_is_gone_is_skipped_by_everything() -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    processes.stop([process.pid])
    processes.resume([process.pid])
    processes.kill_tree(process.pid)
    assert processes.state(process.pid) == "X"
    assert processes.tree(process.pid) == [process.pid]
    assert processes.private_bytes(process.pid) == 0


def test_a_process_that_ended_but_was_not_waited_for_is_a_zombie() -> None:
    process = subprocess.Popen(["true"])
    try:
        _wait_until(lambda: processes.state(process.pid) == "Z")
        processes.stop([process.pid])
    finally:
        process.wait()


def test_a_process_that_does_not_stop_is_a_timeout(root: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "send", lambda pids, which: None)
    with pytest.raises(TimeoutError, match=f"process {root} does not stop"):
        processes.stop([root], timeout_s=0.02)


def test_a_signal_that_was_taken_back_is_sent_again(root: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # A process that is told to run on forgets that it was told to stop.
    sent: list[signal.Signals] = []

    def send(pids: list[int], which: signal.Signals) -> None:
        sent.append(which)
        if len(sent) > 1:
            os.kill(root, which)

    monkeypatch.setattr(processes, "send", send)
    processes.stop([root])
    assert processes.state(root) == "T"


def test_who_waits_for_others_to_stop_gives_them_its_core(root: int, monkeypatch: pytest.MonkeyPatch) -> None:
    states, given = iter("RRT"), list[None]()
    monkeypatch.setattr(processes, "state", lambda _: next(states))
    monkeypatch.setattr(os, "sched_yield", lambda: given.append(None))
    processes.stop([root])
    assert len(given) == 2


def test_the_state_of_a_process_is_that_of_the_thread_that_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "listdir", lambda path: ["1", "2", "3"])
    letters = {"1": "T", "2": "R", "3": "T"}
    monkeypatch.setattr(processes, "_task_state", lambda pid, task: letters[task])
    assert processes.state(1) == "R"
    letters["2"] = "t"
    assert processes.state(1) == "T"


@pytest.mark.parametrize(
    ("letters", "state"),
    [
        pytest.param("ZT", "T", id="the first has ended, the other is stopped"),
        pytest.param("ZR", "R", id="the first has ended, the other runs"),
        pytest.param("ZTS", "S", id="one of three waits"),
        pytest.param("ZD", "D", id="the other waits in the kernel"),
        pytest.param("ZZ", "Z", id="all have ended"),
        pytest.param("XT", "T", id="one is gone"),
        pytest.param("X", "X", id="all are gone"),
    ],
)
def test_a_process_has_stopped_when_every_thread_that_lives_has(
    letters: str, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "listdir", lambda path: [str(number) for number in range(len(letters))])
    monkeypatch.setattr(processes, "_task_state", lambda pid, task: letters[int(task)])
    assert processes.state(1) == state


LED_BY_A_DEAD_THREAD = """
import ctypes, threading, time
def spin():
    print("spinning", flush=True)
    while True: pass
threading.Thread(target=spin).start()
ctypes.CDLL(None).pthread_exit(None)
"""


def test_a_process_whose_first_thread_has_ended_is_stopped_all_the_same() -> None:
    program = [sys.executable, "-c", LED_BY_A_DEAD_THREAD]
    with subprocess.Popen(program, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        _wait_until(lambda: processes._task_state(process.pid, str(process.pid)) == "Z")
        assert processes.state(process.pid) == "R"
        processes.stop([process.pid])
        assert processes.state(process.pid) == "T"
        process.kill()


@pytest.mark.parametrize(("stops_after_s", "pauses"), [(0.0005, False), (0.05, True)])
def test_who_waits_long_for_a_process_to_stop_leaves_it_the_core(
    stops_after_s: float, pauses: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two judges on one core only hand it to each other by yielding."""
    clock = [0.0]
    paused: list[float] = []
    monkeypatch.setattr(processes, "send", lambda pids, which: None)
    monkeypatch.setattr(processes, "state", lambda pid: "T" if clock[0] >= stops_after_s else "R")
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(os, "sched_yield", lambda: clock.append(clock.pop() + 0.0001))

    def pause(seconds: float) -> None:
        paused.append(seconds)
        clock[0] += seconds

    monkeypatch.setattr(time, "sleep", pause)
    processes.stop([1])
    assert bool(paused) == pauses


def test_all_of_a_tree_are_signalled_while_they_are_being_found(root: int) -> None:
    members = processes.halt(root)
    assert sorted(members) == sorted(processes.tree(root))
    _wait_until(lambda: _states(members) == {"T"})


def test_nobody_is_looked_through_before_it_was_signalled(monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []
    family = {1: [2, 3], 2: [4], 3: [], 4: []}

    def children(pid: int) -> list[int]:
        events.append(f"look through {pid}")
        return family[pid]

    monkeypatch.setattr(processes, "send", lambda pids, which: events.append(f"{which.name} to {pids}"))
    monkeypatch.setattr(processes, "children", children)
    assert processes.halt(1) == [1, 2, 3, 4]
    assert events == [
        "SIGSTOP to [1]", "look through 1", "SIGSTOP to [2, 3]", "look through 2", "look through 3", "SIGSTOP to [4]",
        "look through 4",
    ]  # fmt: skip


def test_a_name_with_a_parenthesis_does_not_hide_the_state(tmp_path: Path) -> None:
    # The name of a program is its own choice and stands before the state.
    program = tmp_path / "x) Z 1 (y"
    program.symlink_to(str(shutil.which("sleep")))
    process = subprocess.Popen([program, "60"])
    try:
        _wait_until(lambda: Path(f"/proc/{process.pid}/comm").read_text() == "x) Z 1 (y\n")
        assert processes.state(process.pid) in {"R", "S", "D"}
    finally:
        process.kill()
        process.wait()


def test_private_memory_counts_what_a_process_has_written_and_not_what_it_shares() -> None:
    """The test runs in a process of its own: a hundred tests have memory that comes and goes by itself."""
    done = subprocess.run([sys.executable, "-c", WRITING], capture_output=True, text=True, check=True)
    assert 60 << 20 < int(done.stdout) < 150 << 20


@pytest.mark.parametrize("name", [b"\rRssAnon: 7 kB", b"\x85RssAnon: 7 kB", b"\nRssAnon: 7 kB", b"\xff\xfe"])
def test_the_name_of_a_process_says_nothing_of_its_memory(name: bytes) -> None:
    comm = Path("/proc/self/comm")
    usual = comm.read_bytes()
    try:
        comm.write_bytes(name)
        assert processes.private_bytes(os.getpid()) > 1 << 20
    finally:
        comm.write_bytes(usual.rstrip(b"\n"))
