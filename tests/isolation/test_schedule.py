"""Waiting for a processor is excused only as far as others had it."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest

from robust_kbench.isolation import processes, schedule
from robust_kbench.isolation.schedule import Turn

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


@pytest.mark.parametrize(
    "after",
    [
        pytest.param(later(waited_ns=4_500, processes=2), id="a child"),
        pytest.param(later(waited_ns=4_500, last_pid=901), id="a process that may have come and gone"),
        pytest.param(Turn(), id="unknown"),
    ],
)
def test_what_is_uncertain_is_not_told(after: Turn) -> None:
    assert after.waited_since(BEFORE) is None


def test_an_unknown_start_is_not_told_either() -> None:
    assert later(waited_ns=4_500).waited_since(Turn()) is None
    assert later(waited_ns=4_500).waited_since(later(processes=2)) is None


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
