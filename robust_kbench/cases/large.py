"""Large case with more than 2**31 elements in a tensor, where 32-bit indices wrap around. It needs enough memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from robust_kbench.cases.draw import Draw
from robust_kbench.schema.case import Case
from robust_kbench.schema.task import ITEMSIZE, FloatDType, Input, Output, Task, shape_of

BLOCK_ELEMENTS = 16_777_259
"""Elements of a block: a prime, so that no row length and no power of two is a whole number of blocks."""
LARGE_ELEMENTS = 1 << 27
"""Elements above which a tensor is one block of random values again and again: drawing all would take minutes."""

_INPUT_COPIES = 3  # the judge's own, the arena's, and one that the worker makes
_OUTPUT_COPIES = 6  # the arena's, the worker's, the copy that is judged, PyTorch's answer and what it needs meanwhile
_SLACK_BYTES = 1 << 30  # chunks in float64, and the processes themselves
_GIB = 1 << 30


@dataclass(frozen=True)
class Need:
    """Memory that one call of a large case and its judging take."""

    host_bytes: int
    device_bytes: int
    """Memory on a device of its own; a kernel on the host uses the host's."""


def large_case(task: Task, dtypes: Sequence[FloatDType], seed: int) -> Case | None:
    """Make the large case of `task` in the narrowest of `dtypes`; None if the task declares none."""
    if task.large is None:
        return None
    draw = Draw(seed, f"large {task.name} {task.version}")
    narrowest = min(dtypes, key=lambda dtype: ITEMSIZE[dtype])
    return Case(axes=task.large, dtype=narrowest, seed=draw.bits())


def need(task: Task, case: Case) -> Need:
    """Estimate the memory from above: tensors are contiguous, PyTorch's intermediate values as large as an output."""
    inputs = _bytes(task, case, list(task.inputs.values()))
    outputs = _bytes(task, case, list(task.outputs.values()))
    host = _INPUT_COPIES * inputs + _OUTPUT_COPIES * outputs + _SLACK_BYTES
    return Need(host, 2 * (inputs + outputs) + _SLACK_BYTES)


def obstacle(task: Task, case: Case, *, host_free: int, device_free: int | None = None) -> str | None:
    """Explain why `case` cannot run with so many free bytes, or return None. `device_free`: None on the cpu device."""
    needed = need(task, case)
    if needed.host_bytes > host_free:
        return _shortage("host", needed.host_bytes, host_free)
    if device_free is not None and needed.device_bytes > device_free:
        return _shortage("device", needed.device_bytes, device_free)
    return None


def repeated(shape: tuple[int, ...], make_block: Callable[[tuple[int, ...]], torch.Tensor]) -> torch.Tensor:
    """Make a tensor of `shape` by repeating one block of BLOCK_ELEMENTS from `make_block`."""
    block = make_block((BLOCK_ELEMENTS,))
    values = torch.empty(math.prod(shape), dtype=block.dtype)
    for start in range(0, values.numel(), BLOCK_ELEMENTS):
        part = values[start : start + BLOCK_ELEMENTS]
        part.copy_(block[: part.numel()])
    return values.view(shape)


def _bytes(task: Task, case: Case, tensors: Sequence[Input | Output]) -> int:
    return sum(
        math.prod(shape_of(tensor, case.axes)) * ITEMSIZE[task.dtype_of(tensor, case.dtype)] for tensor in tensors
    )


def _shortage(where: str, needed: int, free: int) -> str:
    return f"not run: the large case needs {needed / _GIB:.1f} GiB of {where} memory, and {free / _GIB:.1f} are free"
