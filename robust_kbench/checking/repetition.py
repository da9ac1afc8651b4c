"""Distance between the answers to two calls on equal inputs."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch

from robust_kbench.oracle.three_metrics import ThreeMetrics
from robust_kbench.schema.observation import Repetition
from robust_kbench.schema.task import Task

Tensors = Mapping[str, torch.Tensor]
_SIGNED = {2: torch.int16, 4: torch.int32, 8: torch.int64}


def compare(task: Task, first: Tensors, second: Tensors, limits: Mapping[str, tuple[float, ...]]) -> Repetition:
    """Compare all outputs and return the one that differs most. `limits` are those of the first answer's judgement."""
    return max(
        (_compare(task, name, first[name], second[name], limits.get(name, ())) for name in task.outputs),
        key=lambda repetition: (repetition.ratio, repetition.differing),
    )


def _compare(task: Task, name: str, first: torch.Tensor, second: torch.Tensor, limits: tuple[float, ...]) -> Repetition:
    steps = _steps_apart(first, second)
    differing = int((steps != 0).sum())
    ratio = _ratio(task, name, first, second, steps, limits) if differing else 0.0
    return Repetition(name, differing, first.numel(), ratio, may_differ=task.nondeterministic)


def _ratio(
    task: Task, name: str, first: torch.Tensor, second: torch.Tensor, steps: torch.Tensor, limits: tuple[float, ...]
) -> float:
    """Compute the distance in units of the limits, without single units in the last place.

    Another order of summation costs a single unit if its result lies near the middle between two numbers. In half
    precision that is a good part of the limit. Equal values may be listed in any order. In every other mode there is no
    sum whose order could matter, so that nothing beyond the last place may differ.
    """
    comparison = task.comparison_of(task.outputs[name])
    if comparison == "indices":
        return 0.0
    far = steps.abs() > 1
    if not bool(far.any()):
        return 0.0
    if comparison != "rule" or len(limits) != 3:
        return math.inf
    held = ThreeMetrics(first, None, dtype=first.dtype, reduction=1, limits=(limits[0], limits[1], limits[2]))
    ratio = held.judge(torch.where(far, second, first)).ratio
    return math.inf if math.isnan(ratio) else ratio


def _steps_apart(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """Count the steps between each pair in representable numbers; zeros of either sign are equal, so are all NaN."""
    if not first.dtype.is_floating_point:
        return second.long() - first.long()
    both_nan = first.isnan() & second.isnan()
    return (_place(second) - _place(first)).masked_fill_(both_nan, 0)


def _place(values: torch.Tensor) -> torch.Tensor:
    """Find the position of each number among all numbers of its dtype; differences of float64 may overflow."""
    bits = values.contiguous().view(_SIGNED[values.dtype.itemsize]).long()
    magnitude = bits & torch.iinfo(_SIGNED[values.dtype.itemsize]).max
    return torch.where(bits < 0, -magnitude, magnitude)
