"""Work in processes of its own: results as they are ready, and an end when somebody wants one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from robust_kbench.agents import side_by_side

_PROGRAM = """
import os, signal, sys, time
from robust_kbench.agents import side_by_side

def nap(name):
    open(os.path.join(sys.argv[1], f"{name}-{os.getpid()}"), "w").close()
    time.sleep(600)

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell has background jobs ignore it
    for _ in side_by_side.each(nap, range(20), jobs=2, device="cuda"):
        pass
"""


def twice(number: int) -> int:
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return 2 * number


def test_results_come_with_their_items() -> None:
    found = dict(side_by_side.each(twice, [1, 2], jobs=2, device="cuda"))
    assert found == {1: 2, 2: 4}


def test_the_item_of_a_process_that_was_killed_has_no_result() -> None:
    assert dict(side_by_side.each(twice, [3], jobs=1, device="cuda")) == {3: None}


def test_an_interrupt_ends_it_and_all_of_its_processes(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(_PROGRAM)
    begun = tmp_path / "begun"
    begun.mkdir()
    running = subprocess.Popen([sys.executable, program, begun], stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        _wait_until(lambda: len(list(begun.iterdir())) == 2)
        running.send_signal(signal.SIGINT)  # to it alone, as `timeout` and supervisors do
        assert running.wait(20) != 0
        pids = [int(path.name.partition("-")[2]) for path in begun.iterdir()]
        assert len(pids) == 2, "nothing else was begun"
        _wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids))
    finally:
        if running.poll() is None:
            os.killpg(running.pid, signal.SIGKILL)


def _wait_until(holds: Callable[[], bool], seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)
