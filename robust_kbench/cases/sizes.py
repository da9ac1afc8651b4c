"""Sizes for a case: on both sides of every power of two, primes, ones; small ones as likely as large ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import suppress

from robust_kbench.cases.draw import Draw
from robust_kbench.cases.space import Space
from robust_kbench.errors import SpecError
from robust_kbench.schema import arithmetic
from robust_kbench.schema.task import shape_of

_EDGES = (1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 97, 127, 128, 129, 251, 255, 256, 257,
          509, 511, 512, 513, 1000, 1021, 1023, 1024, 1025, 2047, 2049, 4093, 4096, 4097, 8191, 8192)  # fmt: skip
_EDGE_SHARE = 0.6
_ATTEMPTS, _ROUNDS = 200, 4
_FEW_ATTEMPTS, _COOLING = 32, 0.85
_CANDIDATES = 12
_MIN_SPREAD = 4  # sizes from which on a case has a neighbour that a NaN must leave alone

Axes = dict[str, int]


def draw_axes(space: Space, draw: Draw, dtype: str, fixed: Mapping[str, int] | None = None) -> Axes:
    """Draw random sizes, with the ones in `fixed` given. Raises SpecError when no case of the space is found."""
    ceiling = 1.0
    for attempt in range(_ROUNDS * _ATTEMPTS):
        if attempt % _ATTEMPTS == 0:
            ceiling = 1.0  # constraints may ask for sizes that are large beside others
        axes = {name: _draw_size(space, name, draw, ceiling) for name in space.task.axes} | dict(fixed or {})
        if space.admits(axes, dtype):
            return axes
        ceiling *= 0.97  # large axes alone are fine, many large ones together are not
    limit = space.budget.elements
    raise SpecError(f"{space.task.name}: found no sizes within the constraints and {limit:,} elements")


def draw_beside(space: Space, draw: Draw, dtype: str, fixed: Mapping[str, int]) -> Axes | None:
    """Draw random sizes beside the ones in `fixed`, smaller and smaller ones; None if none of them fits soon."""
    ceiling = 1.0
    for _ in range(_FEW_ATTEMPTS):
        axes = {name: _draw_size(space, name, draw, ceiling) for name in space.task.axes} | dict(fixed)
        if space.admits(axes, dtype):
            return axes
        ceiling *= _COOLING
    return None


def draw_spread(
    space: Space,
    draw: Draw,
    dtype: str,
    count: int,
    length: Callable[[Axes], int],
    limit: int,
    is_telling: Callable[[Axes], bool],
) -> list[Axes]:
    """Draw `count` sizes from short to long by `length`, none longer than `limit`; one alone is long.

    Return fewer than `count`, perhaps none, if the limit leaves no more. All of them are telling, if any is.
    """
    drawn = [draw_axes(space, draw, dtype) for _ in range(_CANDIDATES)]
    fitting = sorted((axes for axes in drawn if length(axes) <= limit), key=length)
    fitting = [axes for axes in fitting if is_telling(axes)] or fitting
    if not fitting or count == 1:
        return fitting[-1:]
    last = len(fitting) - 1
    return [fitting[round(number * last / (count - 1))] for number in range(min(count, len(fitting)))]


def draw_within(space: Space, draw: Draw, dtype: str, axis: str, within: range) -> Axes:
    """Draw sizes of which that of `axis` is in a range, if the axis and the constraints admit one."""
    for _ in range(_CANDIDATES):
        size = draw.log_uniform(within[0], within[-1])
        if size in space.sizes(axis):
            with suppress(SpecError):
                return draw_axes(space, draw, dtype, {axis: size})
    return draw_axes(space, draw, dtype)


def draw_wide(space: Space, draw: Draw, dtype: str) -> Axes:
    """Draw sizes of which as many as possible leave room beside any one element."""
    drawn = [draw_axes(space, draw, dtype) for _ in range(_CANDIDATES)]
    return max(drawn, key=lambda axes: sum(size >= _MIN_SPREAD for size in axes.values()))


def draw_thin(space: Space, draw: Draw, dtype: str, axis: str) -> Axes | None:
    """Draw sizes of which `axis` is 1; None if no case has that."""
    if 1 not in space.sizes(axis):
        return None
    try:
        return draw_axes(space, draw, dtype, {axis: 1})
    except SpecError:
        return None


def draw_empty(space: Space, draw: Draw, dtype: str, axis: str) -> Axes | None:
    """Draw sizes of which `axis` is 0; None if no case has that."""
    if not space.task.axes[axis].admits(0):
        return None
    for _ in range(_CANDIDATES):
        axes = {**draw_axes(space, draw, dtype), axis: 0}
        if space.task.misfit(axes) is None and space.affords(axes, dtype) and _has_targets(space, axes):
            return axes
    return None


def _has_targets(space: Space, axes: Axes) -> bool:
    """Tell if every index that there is can point at something, and no shape is negative."""
    for tensor in space.task.inputs.values():
        shape = shape_of(tensor, axes)
        bound = arithmetic.evaluate(1 if tensor.below is None else tensor.below, axes)
        if min(shape, default=0) < 0 or (bound < 1 and math.prod(shape) > 0):
            return False
    return all(min(shape_of(tensor, axes), default=0) >= 0 for tensor in space.task.outputs.values())


def _draw_size(space: Space, name: str, draw: Draw, ceiling: float) -> int:
    sizes = space.task.axes[name].sizes()
    if isinstance(sizes, tuple):
        return draw.choice(sizes)
    low, high = sizes[0], sizes[-1]
    high = max(low, round(math.exp(math.log(max(high, 1)) * ceiling)))
    edges = [edge for edge in _EDGES if low <= edge <= high and edge in sizes]
    if edges and draw.unit() < _EDGE_SHARE:
        return draw.choice(edges)
    return sizes[min(len(sizes) - 1, (draw.log_uniform(low, high) - low) // sizes.step)]
