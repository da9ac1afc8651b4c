"""A task and a seed make a suite: sizes on both sides of every power of two, primes, ones, every dtype and layout."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from robust_kbench.cases import layouts
from robust_kbench.cases.draw import Draw
from robust_kbench.errors import SpecError
from robust_kbench.schema import arithmetic
from robust_kbench.schema.case import Case, Suite
from robust_kbench.schema.record import Tier
from robust_kbench.schema.task import ITEMSIZE, DeviceKind, Distribution, FloatDType, Layout, Task, shape_of

_EDGES = (1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 97, 127, 128, 129, 251, 255, 256, 257,
          509, 511, 512, 513, 1000, 1021, 1023, 1024, 1025, 2047, 2049, 4093, 4096, 4097, 8191, 8192)  # fmt: skip
_ATTEMPTS = 200


@dataclass(frozen=True)
class Budget:
    """How much one checked case may cost, and how many there are."""

    cases: int
    elements: int
    flops: float
    timed_bindings: int | None
    """How many of the task's timed bindings are measured, those that move least first; None means all."""


BUDGETS: dict[Tier, Budget] = {
    "quick": Budget(cases=24, elements=1 << 19, flops=2e8, timed_bindings=1),
    "full": Budget(cases=72, elements=1 << 21, flops=2e9, timed_bindings=None),
    "final": Budget(cases=96, elements=1 << 22, flops=4e9, timed_bindings=None),
}
INTERPRETED = Budget(cases=24, elements=1 << 16, flops=2e7, timed_bindings=0)
"""Triton's interpreter takes about half a millisecond per program instance."""


def draw_suite(
    task: Task,
    seed: int,
    *,
    budget: Budget,
    dtypes: Sequence[FloatDType],
    device: DeviceKind,
    dense: bool,
) -> Suite:
    """The cases of `seed`. `dense`: the abi passes dense tensors only, so that strided layouts do not apply."""
    draw = Draw(seed, f"suite {task.name} {task.version}")
    combinations = draw.shuffled(
        [(dtype, layout) for dtype in dtypes for layout in layouts.applicable(task, dense=dense)]
    )
    distributions = draw.shuffled(task.distributions)
    count = max(budget.cases, len(combinations))
    checked = []
    for number in range(count):
        dtype, layout = combinations[number % len(combinations)]
        turn = number // len(combinations)
        distribution = distributions[(number % len(combinations) + turn) % len(distributions)]
        axes = _draw_axes(task, draw, budget, dtype)
        checked.append(_case(axes, dtype, layout, distribution, draw.bits()))
    bindings = sorted(task.timed[device], key=lambda axes: _bytes(task, axes))[: budget.timed_bindings]
    timed = [
        Case(axes=binding, dtype=dtype, seed=draw.bits(), role="timed") for dtype in dtypes for binding in bindings
    ]
    return Suite(seed=seed, checked=tuple(checked), timed=tuple(timed))


def _case(axes: dict[str, int], dtype: FloatDType, layout: Layout, distribution: Distribution, seed: int) -> Case:
    return Case(axes=axes, dtype=dtype, layout=layout, distribution=distribution, seed=seed)


def _draw_axes(task: Task, draw: Draw, budget: Budget, dtype: FloatDType) -> dict[str, int]:
    """Random sizes within the axes, the constraints and the budget. Raises SpecError when there are none."""
    ceiling = 1.0
    for _ in range(_ATTEMPTS):
        axes = {name: _draw_size(task, name, draw, ceiling) for name in task.axes}
        if task.misfit(axes) is None and _affordable(task, axes, budget, dtype):
            return axes
        ceiling *= 0.97  # large axes alone are fine, many large ones together are not
    raise SpecError(f"{task.name}: found no sizes within the constraints and {budget.elements:,} elements")


def _draw_size(task: Task, name: str, draw: Draw, ceiling: float) -> int:
    sizes = task.axes[name].sizes()
    if isinstance(sizes, tuple):
        return draw.choice(sizes)
    low, high = sizes[0], sizes[-1]
    high = max(low, round(math.exp(math.log(max(high, 1)) * ceiling)))
    edges = [edge for edge in _EDGES if low <= edge <= high and edge in sizes]
    if edges and draw.unit() < 0.6:
        return draw.choice(edges)
    return sizes[min(len(sizes) - 1, (draw.log_uniform(low, high) - low) // sizes.step)]


def _bytes(task: Task, axes: dict[str, int]) -> int:
    return arithmetic.evaluate(task.cost.bytes, {**axes, "itemsize": ITEMSIZE[task.dtypes[0]]})


def _affordable(task: Task, axes: dict[str, int], budget: Budget, dtype: FloatDType) -> bool:
    shapes = [shape_of(tensor, axes) for tensor in task.tensors.values()]
    if min((size for shape in shapes for size in shape), default=1) < 1:
        return False
    flops = arithmetic.evaluate(task.cost.flops, {**axes, "itemsize": ITEMSIZE[dtype]})
    return sum(math.prod(shape) for shape in shapes) <= budget.elements and flops <= budget.flops
