"""A session may be the first to need a process, and needs it until its end."""

from __future__ import annotations

from conftest import Submit

from robust_kbench import contestant
from robust_kbench.cases.bank import Bank
from robust_kbench.devices import open_device
from robust_kbench.isolation.arena import Arena
from robust_kbench.isolation.calls import case_footprint
from robust_kbench.isolation.pool import WarmPool
from robust_kbench.oracle.reference import Reference
from robust_kbench.oracle.verdict import Judge
from robust_kbench.registry import load_task
from robust_kbench.schema.case import Case
from robust_kbench.stopwatch import Stopwatch
from robust_kbench.timing.plan import Plan
from robust_kbench.timing.session import TimingSession

SOURCE = """
import torch

def rmsnorm(x, weight):
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)
"""
PLAN = Plan(sessions=1, min_rounds=3, max_rounds=3, max_seconds=9.0, warm_up_rounds=1, warm_up_seconds=0.0)


def test_workers_outlive_the_threads_that_started_them(submit: Submit) -> None:
    task, device = load_task("norm/rmsnorm"), open_device("cpu")
    case = Case(axes={"rows": 8, "cols": 16}, dtype="float32", seed=1, role="timed")
    with WarmPool() as pool:  # nothing is warm yet
        sides = [
            contestant.build(name, submit(SOURCE), task.spec, ["float32"], device, pool.scratch())
            for name in ("candidate", "eager")
        ]
        arena = Arena(2 * case_footprint(task.spec, case))
        result = TimingSession(
            task.spec, case, sides, PLAN,
            judge=Judge(task.spec, Reference(task)), bank=Bank(task.spec, case), pool=pool, device=device, arena=arena,
            watch=Stopwatch(), timeout_s=20, distributions=(),
        ).run()  # fmt: skip
        arena.close()
    assert result.failure == ""
    assert {name: len(samples) for name, samples in result.samples.items()} == {"candidate": 3, "eager": 3}
