"""Work in processes of its own: results come as they are ready, and the work ends on request."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from robust_kbench import machine_lock, side_by_side
from robust_kbench.machine_shares import Share

if TYPE_CHECKING:
    from robust_kbench.devices.cuda import CudaDevice

_PROGRAM = """
import os, signal, sys, time
from robust_kbench import side_by_side

def nap(name):
    open(os.path.join(sys.argv[1], f"{name}-{os.getpid()}"), "w").close()
    time.sleep(600)

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell has background jobs ignore it
    for _ in side_by_side.each(nap, range(20), jobs=2):
        pass
"""


def twice(number: int) -> int:
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return 2 * number


def test_results_come_with_their_items() -> None:
    found = dict(side_by_side.each(twice, [1, 2], jobs=2))
    assert found == {1: 2, 2: 4}


def test_one_item_ahead_of_each_process_is_prepared_here(tmp_path: Path) -> None:
    prepared: list[int] = []

    def prepare(number: int) -> tuple[Path, int]:
        prepared.append(number)
        return tmp_path / str(number), os.getpid()

    ended = side_by_side.each_prepared(prepare, waits_for_its_file, [0, 1, 2, 3], jobs=1)
    told = threading.Thread(target=lambda: found.extend(ended))
    found: list[tuple[int, int | None]] = []
    told.start()
    _wait_until(lambda: len(prepared) == 2)
    time.sleep(0.2)
    assert sorted(prepared) == [0, 1]
    for number in range(4):
        (tmp_path / str(number)).touch()
    told.join()
    assert sorted(found) == [(number, os.getpid()) for number in range(4)]


def test_each_process_begins_with_what_it_is_told_to() -> None:
    ended = side_by_side.each_prepared(int, mark_of, ["1", "2"], jobs=2, begin=leave_a_mark)
    assert dict(ended) == {"1": "left", "2": "left"}


def leave_a_mark() -> None:
    os.environ["KBENCH_TEST_MARK"] = "left"


def mark_of(_: int) -> str | None:
    return os.environ.get("KBENCH_TEST_MARK")


def waits_for_its_file(order: tuple[Path, int]) -> int:
    path, prepared_by = order
    assert prepared_by != os.getpid()
    while not path.exists():
        time.sleep(0.01)
    return prepared_by


def gpu_and_cores(_: int) -> tuple[str, set[int]]:
    with machine_lock.quiet():  # which the parent holds all the time
        time.sleep(1)  # so that the other process takes the other item
        return os.environ["CUDA_VISIBLE_DEVICES"], os.sched_getaffinity(0)


@pytest.mark.rotating
def test_each_process_measures_on_a_share_of_its_own_while_somebody_else_measures() -> None:
    core = min(os.sched_getaffinity(0))
    with machine_lock.quiet():
        found = dict(
            side_by_side.each(gpu_and_cores, [1, 2], jobs=2, shares=[Share((core,), "GPU-a"), Share((core,), "GPU-b")])
        )
    assert sorted(gpu for gpu, _ in filter(None, found.values())) == ["GPU-a", "GPU-b"]
    assert [cores for _, cores in filter(None, found.values())] == [{core}, {core}]


class Gpus:
    """Stand-in for a device, with the parts that shares ask for."""

    kind = "cuda"

    def facts(self) -> dict[str, str]:
        return {"device": "NVIDIA H100 80GB HBM3"}


@pytest.mark.parametrize(
    ("gpus", "cores", "jobs", "shares"),
    [
        ("a,b", {0, 1, 2, 3}, 4, [Share((0, 1), "a"), Share((2, 3), "b")]),
        ("a", {0, 1, 2, 3}, 4, []),
        ("a,b", {0, 1, 2}, 4, []),
        ("a,b", {0, 1, 2, 3}, 1, []),
    ],
    ids=["one each", "one gpu", "too few cores", "one job"],
)
def test_gpus_are_shared_out_where_there_are_several_and_cores_for_each(
    gpus: str, cores: set[int], jobs: int, shares: list[Share], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", gpus)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: cores)
    assert side_by_side.shares_of(cast("CudaDevice", Gpus()), jobs) == shares


def test_the_item_of_a_process_that_was_killed_has_no_result() -> None:
    assert dict(side_by_side.each(twice, [3], jobs=1)) == {3: None}


@pytest.mark.parametrize(("jobs", "shares"), [(1, []), (2, []), (1, [Share((min(os.sched_getaffinity(0)),), "GPU-a")])])
def test_another_process_takes_the_place_of_one_that_was_killed(jobs: int, shares: list[Share]) -> None:
    """The work of other processes, and all work that is due, is carried out all the same."""
    items = [1, 3, 2, 3, 4, 5]
    found = list(side_by_side.each(twice, items, jobs=jobs, shares=shares))
    assert sorted(item for item, _ in found) == sorted(items)
    assert {(item, result) for item, result in found} == {(1, 2), (2, 4), (3, None), (4, 8), (5, 10)}


def fails_on_three(number: int) -> int:
    if number != 3:
        time.sleep(600)
    raise ValueError("three")


def test_an_error_ends_it_and_waits_for_nobody_else() -> None:
    others = set(multiprocessing.active_children())
    started = time.monotonic()
    with pytest.raises(ValueError, match="three"):
        list(side_by_side.each(fails_on_three, [1, 2, 3], jobs=3))
    assert time.monotonic() - started < 30
    assert set(multiprocessing.active_children()) <= others


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
