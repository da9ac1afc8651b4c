"""Processes that measure side by side keep out of each other's way."""

from __future__ import annotations

import multiprocessing
import os
import tempfile
from pathlib import Path

import pytest

from robust_kbench import machine_lock, machine_shares
from robust_kbench.machine_shares import Share


@pytest.mark.parametrize(
    ("cores", "jobs", "shares"),
    [
        ([0], 2, [[0]]),
        ([0, 1], 2, [[0], [1]]),
        ([0, 1], 1, [[0, 1]]),
        ([2, 3, 5, 7, 8], 2, [[2, 3], [5, 7, 8]]),
    ],
)
def test_every_process_has_cores_of_its_own(cores: list[int], jobs: int, shares: list[list[int]]) -> None:
    assert [list(share.cores) for share in machine_shares.of_cores(cores, jobs)] == shares


def test_every_process_has_a_gpu_of_its_own_and_there_are_no_more_processes_than_gpus() -> None:
    assert machine_shares.of_gpus(["GPU-a", "GPU-b"], range(8), 5) == [
        Share((0, 1, 2, 3), "GPU-a"),
        Share((4, 5, 6, 7), "GPU-b"),
    ]
    assert machine_shares.of_gpus(["0", "1", "2"], range(4), 2) == [Share((0, 1), "0"), Share((2, 3), "1")]
    assert machine_shares.of_gpus([], range(4), 2) == []


def _measure_beside(folder: str) -> tuple[set[int], str, str]:
    """Settle on a share in a process of its own, as settling is for good; return its cores and temporary folders."""
    machine_shares.settle(Share(tuple(sorted(os.sched_getaffinity(0))[:1])), folder)
    with machine_lock.quiet():
        return os.sched_getaffinity(0), tempfile.gettempdir(), os.environ["TMPDIR"]


def test_who_has_cores_of_its_own_waits_for_nobody_and_its_children_neither(tmp_path: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(1) as pool, machine_lock.quiet():
        cores, folder, inherited = pool.apply_async(_measure_beside, (str(tmp_path),)).get(timeout=60)
    assert cores == {min(os.sched_getaffinity(0))}
    assert folder == inherited
    assert Path(folder).parent == tmp_path
