"""The knock-out test of the custom track: without the submission's own kernels its answer must be wrong.

The loophole: a submission that claims to bring kernels calls the library, and launches a kernel of its own beside that,
or as a fallback that never runs, so that it looks the part.
How it is detected: one more case runs in a worker in which every launch of a Triton or CUDA kernel does nothing. What
is still right was computed by something else.
What it cannot see: a submission that finds out that its kernels do nothing and spoils its answer; kernels of its own
that do a trifle beside the library's (labels and a profile show those). So this decides about a track, never about
integrity: who declares none is not tested.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from robust_kbench.checking.attempt import Attempt
from robust_kbench.checking.crew import Crew
from robust_kbench.contestant import Contestant
from robust_kbench.devices import Device
from robust_kbench.isolation.calls import case_footprint
from robust_kbench.isolation.pool import WarmPool
from robust_kbench.oracle.verdict import Judge
from robust_kbench.schema.case import Case
from robust_kbench.schema.finding import Finding
from robust_kbench.schema.task import Task
from robust_kbench.stopwatch import Stopwatch
from robust_kbench.worker.knocked_out import VARIABLE


def knock_out(
    task: Task,
    contestant: Contestant,
    cases: Sequence[Case],
    *,
    judge: Judge,
    pool: WarmPool,
    device: Device,
    watch: Stopwatch,
    timeout_s: float,
) -> Finding | None:
    """A rejection if the largest of `cases`, which have passed, passes without the submission's kernels, too."""
    ordinary = [case for case in cases if case.probe is None]
    case = max(ordinary, key=lambda case: case_footprint(task, case), default=None)
    if case is None:
        return None
    crew = Crew(task, without_kernels(contestant), pool, device, timeout_s, watch)
    try:
        attempt = Attempt(task, without_kernels(contestant), crew, judge, watch, case)
        attempt.run(searches_defects=False)
        is_right = attempt.result.status == "passed"
    finally:
        crew.close()
    if not is_right:
        return None
    message = "the answer is right without the submission's kernels: something else computes it"
    return Finding(guard="knock_out", severity="reject", message=message, case=str(case))


def without_kernels(contestant: Contestant) -> Contestant:
    """The same artefacts, whose workers launch nothing."""
    built = {
        dtype: replace(built, environment={**built.environment, VARIABLE: "1"})
        for dtype, built in contestant.built.items()
    }
    return replace(contestant, built=built, instrument=None)
