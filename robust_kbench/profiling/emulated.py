"""Checks of a CUDA submission by the emulator where there is no device: races, bounds, initialisation."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence

from robust_kbench import emulation
from robust_kbench.cases.suite import INTERPRETED, draw_suite
from robust_kbench.checking import Checker
from robust_kbench.contestant import Contestant
from robust_kbench.devices import Device
from robust_kbench.errors import Unsupported
from robust_kbench.isolation.calls import case_footprint
from robust_kbench.isolation.pool import WarmPool
from robust_kbench.oracle.reference import Reference
from robust_kbench.oracle.verdict import Judge
from robust_kbench.profiling.reports import SanitizerFinding, SanitizerReport
from robust_kbench.profiling.text import shown
from robust_kbench.progress import silent
from robust_kbench.registry import LoadedTask
from robust_kbench.schema.case import Case
from robust_kbench.schema.observation import Observation
from robust_kbench.schema.task import FloatDType
from robust_kbench.stopwatch import Stopwatch

TOOL = "emulator"
_SEED_BITS = 53
_SOUND = ("passed", "not_checked")


def check(
    task: LoadedTask, contestant: Contestant, dtype: FloatDType, device: Device, pool: WarmPool
) -> SanitizerReport:
    """Run a few cases that the checker affords, exactly as an evaluation would."""
    judge = Judge(task.spec, Reference(task))
    checker = Checker(task.spec, contestant, judge=judge, pool=pool, device=device, watch=Stopwatch(), tier="full")
    try:
        with checker:
            checker.check(_extremes(task, contestant, dtype), silent)
    except Unsupported as error:
        return SanitizerReport(notes=(shown(str(error)),))
    found = checker.checked
    wrong = [result for result in found.results if result.status not in _SOUND]
    return SanitizerReport(
        checked=tuple(dict.fromkeys(str(seen.case) for seen in found.seen)),
        findings=tuple(_findings(found.seen)),
        notes=tuple(shown(f"the case came out {result.status}: {result.reason}") for result in wrong),
    )


def _extremes(task: LoadedTask, contestant: Contestant, dtype: FloatDType) -> list[Case]:
    """Return the smallest case, the easiest to follow, and each axis's longest: one warp alone has no races."""
    suite = draw_suite(
        task.spec, secrets.randbits(_SEED_BITS),
        budget=INTERPRETED["full"], dtypes=(dtype,), device="cpu", dense=contestant.abi == "c",
    )  # fmt: skip
    ordinary = [case for case in suite.checked if case.probe is None]
    sized = sorted(ordinary, key=lambda case: case_footprint(task.spec, case))
    affordable = [case for case in sized if emulation.is_small(case_footprint(task.spec, case))]
    longest = [max(affordable, key=lambda case: case.axes[axis]) for axis in task.spec.axes if affordable]
    distinct = {str(case): case for case in [*sized[:1], *longest]}
    return list(distinct.values())


def _findings(seen: Sequence[Observation]) -> Iterator[SanitizerFinding]:
    """Yield each kind of defect at each place once, with the case that showed it first."""
    told = set()
    for observation in seen:
        for defect in observation.defects:
            if (key := (defect.kind, defect.place)) not in told:
                told.add(key)
                yield SanitizerFinding(TOOL, shown(str(defect)), str(observation.case), defect.count)
