"""The least time that a task's work can take on a device: a claim below it is not a measurement."""

from __future__ import annotations

import math
from collections.abc import Mapping

from robust_kbench.devices.peaks import Floor, Peaks
from robust_kbench.schema import arithmetic
from robust_kbench.schema.task import ITEMSIZE, FloatDType, Precision, Task, shape_of


def floor_of(
    flops: int, bytes_: int, output_bytes: int, *, peaks: Peaks, dtype: FloatDType, contract: Precision = "ieee"
) -> Floor:
    """The floor of `flops` operations and `bytes_` bytes, `output_bytes` of which are results.

    When the clock stops, results may still lie in the last-level cache: only what exceeds it must have reached memory.
    Inputs were cleared from the caches before the call.
    """
    in_cache = min(output_bytes, peaks.cache_bytes)
    return peaks.floor(flops, max(0, bytes_ - in_cache), dtype, contract)


def task_floor(task: Task, axes: Mapping[str, int], dtype: FloatDType, peaks: Peaks | None) -> Floor | None:
    """The floor of the task's declared cost on these sizes; None when the device's peaks are unknown."""
    if peaks is None:
        return None
    known = {**axes, "itemsize": ITEMSIZE[dtype]}
    return floor_of(
        arithmetic.evaluate(task.cost.flops if task.cost.least_flops is None else task.cost.least_flops, known),
        arithmetic.evaluate(task.cost.bytes, known),
        _output_bytes(task, axes, dtype),
        peaks=peaks,
        dtype=dtype,
        contract=task.precision,
    )


def _output_bytes(task: Task, axes: Mapping[str, int], dtype: FloatDType) -> int:
    return sum(
        math.prod(shape_of(output, axes)) * ITEMSIZE[task.dtype_of(output, dtype)] for output in task.outputs.values()
    )
