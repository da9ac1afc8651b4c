"""Emulated runs of a case: three schedules, two poisons, and one run under the checker."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Literal

from robust_kbench.schema.case import Case

_SCHEDULES = ("forward", "reverse", "shuffled")
# A quiet NaN in float32 and float16, and an everyday number: what was never written shows as one or as the other.
_NAN, _NUMBER = 0x7FA5A5A5, 0xC2F6E979
_WORK_LIMIT = 4_000_000_000
_CPU_SECONDS = 30
"""Limit on the processor time of a call in seconds, half of the time that a call may take.

A correct kernel needed more than 10 seconds: 27 of its 32 lanes had no work in a drawn case.
"""
_SMALL_BYTES = 4 << 20
"""Bytes of the largest case that is checked by default. The checker keeps some forty bytes for each of them."""


@dataclass(frozen=True)
class Mode:
    """Mode in which one call is emulated. The order of shuffled threads and blocks depends on `seed`."""

    schedule: Literal["forward", "reverse", "shuffled"]
    seed: int
    poison: int
    checked: bool = False

    def request(self) -> dict[str, Any]:
        """Return the request to the worker, without the tensors. The checker runs blocks one after the other."""
        return {
            "schedule": _SCHEDULES.index(self.schedule),
            "seed": self.seed,
            "poison": self.poison,
            "checked": self.checked,
            "cores": len(os.sched_getaffinity(0)),
            "work_limit": _WORK_LIMIT,
            "cpu_seconds": _CPU_SECONDS,
        }


def modes(case: Case) -> tuple[Mode, ...]:
    """Return the plain runs of a case.

    No result may depend on the order of threads or on earlier contents of memory.
    """
    return (
        Mode("forward", case.seed, _NAN),
        Mode("reverse", case.seed, _NUMBER),
        Mode("shuffled", case.seed, _NAN),
    )


def under_checker(case: Case) -> Mode:
    """Return the run under the checker, which sees every memory access."""
    return Mode("shuffled", case.seed, _NAN, checked=True)


def is_small(footprint_bytes: int) -> bool:
    """Tell if the checker can afford a case of this size by default."""
    return footprint_bytes <= _SMALL_BYTES
