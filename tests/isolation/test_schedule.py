"""Waiting for a processor is excused only as far as others had it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from robust_kbench.isolation import processes, schedule
from robust_kbench.isolation.schedule import Rest, Turn

BEFORE = Turn(True, last_pid=900, processes=1, ran_ns=1_000, waited_ns=500, others_ran_ns=70)
BURN = """
import sys, threading
def burn():
    for _ in range(3_000_000): pass
thread = threading.Thread(target=burn)
thread.start()
thread.join()
print("burnt", flush=True)
sys.stdin.read()
"""

TWO = """
import os, sys, threading
if os.fork():
    threading.Thread(target=sys.stdin.read).start()
    print("started", flush=True)
else:
    sys.stdin.read()
"""


def later(**changes: Any) -> Turn:
    return replace(BEFORE, **changes)


def test_time_in_a_run_queue_is_told() -> None:
    assert later(ran_ns=2_000, waited_ns=4_500).waited_since(BEFORE) == 4_000


def test_time_behind_threads_of_its_own_is_no_excuse() -> None:
    assert later(waited_ns=4_500, others_ran_ns=4_070).waited_since(BEFORE) == 0
    assert later(waited_ns=4_500, others_ran_ns=1_070).waited_since(BEFORE) == 3_000


def test_the_waiting_of_the_calling_thread_is_told_while_it_runs() -> None:
    mine = os.sched_getaffinity(0)
    core = min(mine)
    spin = f"import os\nos.sched_setaffinity(0, [{core}])\nprint(1, flush=True)\nwhile True: pass"
    with subprocess.Popen([sys.executable, "-c", spin], stdout=subprocess.PIPE) as rival:
        try:
            assert rival.stdout is not None
            rival.stdout.readline()
            os.sched_setaffinity(0, [core])
            with schedule.own_waiting() as waited_ns:
                before, until = waited_ns(), time.monotonic() + 0.5
                while time.monotonic() < until:
                    pass
                after = waited_ns()
        finally:
            os.sched_setaffinity(0, mine)
            rival.kill()
    assert after - before > 0.1e9  # two on one core: each waits for about half of the time


def test_where_the_kernel_does_not_count_it_nothing_has_waited(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise FileNotFoundError

    monkeypatch.setattr(os, "open", refuse)
    with schedule.own_waiting() as waited_ns:
        assert waited_ns() == 0


def test_what_is_unknown_is_no_excuse() -> None:
    assert Turn().waited_since(BEFORE) == 0
    assert later(waited_ns=4_500).waited_since(Turn()) == 0


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(BEFORE, later(processes=2), id="a child"),
        pytest.param(later(processes=2), BEFORE, id="a child that is gone"),
        pytest.param(BEFORE, later(last_pid=901), id="a process that may have come and gone"),
        pytest.param(BEFORE, Turn(), id="unknown"),
        pytest.param(Turn(), BEFORE, id="an unknown start"),
    ],
)
def test_a_process_of_its_own_may_be_missed(before: Turn, after: Turn) -> None:
    assert after.may_miss(before)
    assert not BEFORE.may_miss(BEFORE)


def test_a_clock_that_ran_backwards_has_not_waited() -> None:
    assert later(waited_ns=400).waited_since(BEFORE) == 0


def test_the_time_of_a_thread_that_has_ended_is_not_forgotten() -> None:
    with subprocess.Popen([sys.executable, "-c", BURN], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        turn = schedule.look(child.pid, processes.tree(child.pid))
        total = schedule.processor_ns(child.pid)
        child.communicate(b"")
    if not turn.is_known:
        pytest.skip("this kernel keeps no scheduling statistics")
    assert turn.others_ran_ns > 0.1 * total


def test_a_process_that_is_gone_is_unknown() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        child.wait()
    assert not schedule.look(child.pid, processes.tree(child.pid)).is_known
    assert schedule.total_processor_ns([child.pid]) == 0


def test_threads_of_a_process_and_of_its_children_are_counted() -> None:
    with subprocess.Popen([sys.executable, "-c", TWO], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        turn = schedule.look(child.pid, processes.tree(child.pid))
        child.communicate(b"")
    assert (turn.processes, turn.threads) == (2, 3)  # two threads of its own, and a child with one
    assert schedule.look(2**30, [2**30]).threads == 0


def test_what_a_tree_has_used_is_that_of_all_threads_and_children() -> None:
    before = replace(BEFORE, children_ns={7: 100})
    after = replace(BEFORE, ran_ns=1_500, others_ran_ns=370, children_ns={7: 150, 8: 25})
    assert after.used_since(before) == 500 + 300 + 50 + 25


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(replace(BEFORE, children_ns={7: 100}), BEFORE, id="a child is gone, and its time with it"),
        pytest.param(Turn(), BEFORE, id="an unknown start"),
        pytest.param(BEFORE, Turn(), id="an unknown end"),
    ],
)
def test_what_a_tree_has_used_may_be_uncertain(before: Turn, after: Turn) -> None:
    assert after.used_since(before) is None


@pytest.mark.parametrize(
    ("before", "after", "may_miss"),
    [
        pytest.param(BEFORE, BEFORE, False, id="no id was given away"),
        pytest.param(BEFORE, later(last_pid=901), True, id="one was"),
        pytest.param(BEFORE, later(last_pid=3), True, id="they begin anew"),
        pytest.param(Turn(), BEFORE, True, id="an unknown start"),
        pytest.param(BEFORE, Turn(), True, id="an unknown end"),
    ],
)
def test_a_process_may_have_come_and_gone_where_ids_were_given_away(before: Turn, after: Turn, may_miss: bool) -> None:
    assert after.may_miss(before) is may_miss


SPIN = """
import threading
def spin():
    while True: pass
threading.Thread(target=spin, daemon=True).start()
print("spinning", flush=True)
spin()
"""


@pytest.fixture
def spinning() -> Iterator[int]:
    """A stopped process, two threads of which would use all they get."""
    with subprocess.Popen([sys.executable, "-c", SPIN], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        processes.stop([process.pid])
        if not schedule.at_rest([process.pid])[process.pid].starts:
            process.kill()
            pytest.skip("this kernel does not count how often a thread is put on a processor")
        yield process.pid
        process.kill()


def test_a_process_that_stays_stopped_has_used_nothing(spinning: int) -> None:
    resting = schedule.at_rest([spinning])
    assert len(resting[spinning].starts) == 2
    time.sleep(0.05)
    assert schedule.woken_ns(resting) == 0


def test_a_process_that_ran_while_it_should_have_been_stopped_has_used_what_it_ran(spinning: int) -> None:
    resting = schedule.at_rest([spinning])
    os.kill(spinning, signal.SIGCONT)
    time.sleep(0.05)
    processes.stop([spinning])
    assert 5_000_000 < schedule.woken_ns(resting) < 200_000_000


def test_time_that_was_put_to_its_account_late_is_no_sign_of_having_run(spinning: int) -> None:
    # As on CUDA devices, where a process that had just been seen stopped seemed to use 0.2 to 2 ms.
    resting = schedule.at_rest([spinning])
    stale = {spinning: replace(resting[spinning], used_ns=resting[spinning].used_ns - 2_000_000)}
    assert schedule.woken_ns(stale) == 0


def test_neither_is_a_thread_that_has_ended_on_its_way_to_the_stop(spinning: int) -> None:
    resting = schedule.at_rest([spinning])
    starts = {**resting[spinning].starts, "1": 7}
    assert schedule.woken_ns({spinning: replace(resting[spinning], starts=starts)}) == 0


def test_where_the_kernel_counts_no_starts_nobody_is_accused(spinning: int) -> None:
    resting = schedule.at_rest([spinning])
    assert schedule.woken_ns({spinning: Rest({}, resting[spinning].used_ns - 2_000_000)}) == 0


def test_the_dead_and_the_gone_have_used_nothing() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        while processes.state(child.pid) != "Z":
            time.sleep(0.001)
        resting = schedule.at_rest([child.pid, 2**23])
        assert list(resting) == [child.pid]
        assert schedule.woken_ns(resting) == 0
        child.wait()
    assert schedule.woken_ns(resting) == 0
    assert schedule.at_rest([child.pid]) == {}
