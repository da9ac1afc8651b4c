"""How often, and how, a case runs on the emulator: three schedules, two poisons, and once under the checker."""

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
"""Half of what a call may take. A right kernel needed more than 10: 27 of its 32 lanes had no work in a drawn case."""
_SMALL_BYTES = 4 << 20
"""The checker remembers some forty bytes for each byte of a tensor."""


@dataclass(frozen=True)
class Mode:
    """How one call is emulated. Shuffled threads and blocks depend on `seed`."""

    schedule: Literal["forward", "reverse", "shuffled"]
    seed: int
    poison: int
    checked: bool = False

    def request(self) -> dict[str, Any]:
        """What the worker is told, except for the tensors. The checker runs blocks one after the other."""
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
    """The plain runs of a case: no result may depend on the order of threads or on what memory held before."""
    return (
        Mode("forward", case.seed, _NAN),
        Mode("reverse", case.seed, _NUMBER),
        Mode("shuffled", case.seed, _NAN),
    )


def under_checker(case: Case) -> Mode:
    """The run that sees every memory access."""
    return Mode("shuffled", case.seed, _NAN, checked=True)


def is_small(footprint_bytes: int) -> bool:
    """Whether the checker can afford the case by default."""
    return footprint_bytes <= _SMALL_BYTES
