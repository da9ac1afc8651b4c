"""Memory that a kernel allocates for its results costs no page faults once a session has begun."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Submit

from robust_kbench import contestant
from robust_kbench.cases.values import make_inputs
from robust_kbench.devices import open_device
from robust_kbench.isolation.arena import Arena
from robust_kbench.isolation.calls import Caller, case_footprint
from robust_kbench.isolation.pool import WarmPool
from robust_kbench.registry import load_task
from robust_kbench.schema.case import Case

COPY = """
def rmsnorm(x, weight):
    return x.clone()
"""
TASK = load_task("norm/rmsnorm").spec
CASE = Case(axes={"rows": 512, "cols": 4096}, dtype="float32", seed=1, role="timed")
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
