"""Undefined behaviour in an emulated kernel.

The loophole: a data race, a read beyond a tensor or a barrier that not all threads reach may give the right answer on
one machine, at one size, on one day. No comparison of outputs can see that.
A shuffle that reads from a lane which takes no part is a warning: the value is anything, and often it is not used.
How it is detected: the emulator's checker sees every memory access and every collective of a small case; the plain
builds see errors that raise a signal, and shifts and conversions that C++ leaves undefined.
What it cannot see: kernels on a CUDA device, and cases that the checker did not run. The checker lives in the worker:
a submission that forges its own reports only loses the evidence, since emulated results are never ranked.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from robust_kbench.schema.defect import WORK_LIMIT
from robust_kbench.schema.finding import Finding
from robust_kbench.schema.observation import Observation

_MAX_FINDINGS = 8


def inspect(seen: Sequence[Observation]) -> Iterable[Finding]:
    """Report each kind and line once, with the first case that showed it."""
    told: set[tuple[str, str]] = set()
    for observation in seen:
        for defect in observation.defects:
            key = (defect.kind, defect.place)
            if key in told or defect.kind == WORK_LIMIT or len(told) == _MAX_FINDINGS:
                continue
            told.add(key)
            yield Finding(
                guard="undefined_behaviour",
                severity="reject" if defect.is_undefined_behaviour else "warn",
                message=str(defect)[:500],
                case=str(observation.case),
                evidence={
                    "kind": defect.kind,
                    "kernel": defect.kernel[:200],
                    "file": defect.file[:200],
                    "line": defect.line,
                    "count": defect.count,
                    "case_seed": observation.case.seed,
                },
            )
