"""Memory that a kernel allocates costs no page faults once a session has begun, and is handed out again and again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from conftest import Submit

from robust_kbench import contestant
from robust_kbench.cases.values import make_inputs
from robust_kbench.devices import open_device
from robust_kbench.isolation import calls
from robust_kbench.isolation.arena import Arena
from robust_kbench.isolation.calls import Caller, case_footprint
from robust_kbench.isolation.pool import WarmPool
from robust_kbench.isolation.protocol import Claim
from robust_kbench.registry import load_task
from robust_kbench.schema.case import Case

COPY = """
def rmsnorm(x, weight):
    return x.clone()
"""
STEPS = """
import torch


def rmsnorm(x, weight):
    scaled = x * torch.rsqrt(x.square().mean(1, keepdim=True) + 1e-6)
    return scaled * weight
"""
TASK = load_task("norm/rmsnorm").spec
CASE = Case(axes={"rows": 512, "cols": 4096}, dtype="float32", seed=1, role="timed")
PLACES = 4
"""Places more than a quarter of a result apart. Two or three were seen, and five to seven by the usual heap."""
PAGES = 512 * 4096 * 4 // 4096


def _minor_faults(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[7])


@pytest.mark.rotating
@pytest.mark.parametrize(("calls_of_heap", "is_faulted_in"), [(0, True), (4, False)])
def test_the_pages_of_results_are_there_before_the_first_call(
    submit: Submit, calls_of_heap: int, is_faulted_in: bool
) -> None:
    device, footprint = open_device("cpu"), case_footprint(TASK, CASE)
    with WarmPool() as pool:
        arena = Arena(2 * footprint)
        built = contestant.build("candidate", submit(COPY), TASK, ["float32"], device, pool.scratch())
        worker = built.start(pool, arena, device, "float32", heap_bytes=calls_of_heap * footprint)
        before = _minor_faults(worker.pid)
        for _ in range(3):
            seen = Caller(TASK, arena, timeout_s=20).call(worker, "value", CASE, make_inputs(TASK, CASE))
            assert seen.ending == "returned"
        faults = _minor_faults(worker.pid) - before
        worker.close()
        arena.close()
    assert (faults > PAGES) == is_faulted_in
    assert is_faulted_in or faults < PAGES / 4


def test_results_come_back_to_the_memory_that_was_freed(submit: Submit) -> None:
    """By memory that is not in the caches a call takes twice as long: its results must not wander through the heap."""
    device, footprint = open_device("cpu"), case_footprint(TASK, CASE)
    pointers = list[int]()
    contradiction = calls.contradiction

    def noted(claim: Claim, *rest: Any, **options: Any) -> str | None:
        pointers.append(claim.pointer or 0)
        return contradiction(claim, *rest, **options)

    with WarmPool() as pool, pytest.MonkeyPatch.context() as patch:
        patch.setattr(calls, "contradiction", noted)
        arena = Arena(2 * footprint)
        built = contestant.build("candidate", submit(STEPS), TASK, ["float32"], device, pool.scratch())
        worker = built.start(pool, arena, device, "float32", heap_bytes=16 * footprint)
        caller = Caller(TASK, arena, timeout_s=20)
        for _ in range(24):
            caller.call(worker, "value", CASE, make_inputs(TASK, CASE), is_read=False)
        worker.close()
        arena.close()
    places = {pointer * 4 // (CASE.axes["rows"] * CASE.axes["cols"] * 4) for pointer in pointers[4:]}
    assert len(pointers) == 24
    assert len(places) <= PLACES
