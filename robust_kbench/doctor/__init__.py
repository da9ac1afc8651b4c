"""Diagnoses of this machine: parts that work, parts that are missing, and the commands that fix them.

One module per group of checks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from robust_kbench.doctor import packages
from robust_kbench.doctor.diagnosis import Diagnosis


def examine(*, measure: bool = False) -> Iterator[Diagnosis]:
    """Yield every diagnosis as it is made; `measure` the ceilings too, which takes up to 20 s a device.

    Without a PyTorch that can be imported, its diagnosis is the last one: all later checks need it.
    """
    yield from packages.inspect()
    torch = packages.inspect_torch()
    yield torch
    if torch.status == "missing":
        return
    from robust_kbench.doctor import compilers, gpu, host, sandbox, speed

    yield from host.inspect()
    yield from sandbox.inspect()
    yield from compilers.inspect()
    yield from gpu.inspect()
    yield from speed.inspect(measure=measure)


def can_judge(found: Iterable[Diagnosis]) -> bool:
    """Tell if kernels can be judged here, in any language and on any device."""
    return not any(each.is_required and each.status == "missing" for each in found)
