"""Layouts of a tensor's elements in memory, and the ones among them that apply to a task."""

from __future__ import annotations

import math
from typing import Literal

from robust_kbench.schema.task import Input, Layout, Task

Outer = Literal["turned", "turned_pitched", "sliced"]
DENSE: tuple[Layout, ...] = ("contiguous", "offset")
"""Layouts that a calling convention without strides can pass."""
_ORDER: tuple[Layout, ...] = (
    "contiguous", "offset", "transposed", "strided", "expanded", "pitched", "channels_last",
)  # fmt: skip
_PADDING = 3  # elements behind each row of a pitched tensor: few, and odd, so that rows are not aligned


def applicable(task: Task, *, dense: bool) -> list[Layout]:
    """List the layouts that at least one input of `task` declares and that its shape allows."""
    tensors = [tensor for tensor in task.inputs.values() if tensor.role != "scalar"]
    found = {layout for tensor in tensors for layout in tensor.layouts if _fits(layout, tensor)}
    if dense:
        found &= set(DENSE)
    return [layout for layout in _ORDER if layout in found]


def layout_of(tensor: Input, layout: Layout, *, dense: bool) -> Layout:
    """Return the layout that `tensor` takes in a case of `layout`: contiguous where that does not apply."""
    applies = layout in tensor.layouts and _fits(layout, tensor) and (not dense or layout in DENSE)
    return layout if applies else "contiguous"


def strides(shape: tuple[int, ...], layout: Layout) -> tuple[int, ...]:
    """Compute the strides of a layout in elements.

    transposed: the last two axes swapped in memory; strided: every second element of a twice as wide last axis;
    expanded: one slice along the first axis, repeated; pitched: rows of a wider matrix, the rest of which is poison;
    channels_last: the second of four axes innermost; contiguous and offset: row-major.
    """
    if layout == "transposed":
        swapped = strides((*shape[:-2], shape[-1], shape[-2]), "contiguous")
        return (*swapped[:-2], swapped[-1], swapped[-2])
    if layout == "strided":
        return tuple(2 * step for step in strides(shape, "contiguous"))
    if layout == "expanded":
        return (0, *strides(shape[1:], "contiguous"))
    if layout == "pitched":
        return (*strides((*shape[:-1], shape[-1] + _PADDING), "contiguous")[:-1], 1)
    if layout == "channels_last":
        batch, height, width, channels = strides((shape[0], *shape[2:], shape[1]), "contiguous")
        return (batch, channels, height, width)
    steps = [1]
    for size in reversed(shape[1:]):
        steps.append(steps[-1] * max(size, 1))
    return tuple(reversed(steps)) if shape else ()


def outer_strides(shape: tuple[int, ...], way: Outer) -> tuple[int, ...]:
    """Compute strides of a pitched tensor whose outer axes do not follow from the inner ones, if it has three axes.

    turned: the two axes before the last are exchanged in memory, as heads and places of a model are; turned_pitched:
    the same in a wider tensor; sliced: the first rows of larger slices, as of a cache, or all of them if they are long.
    No layout takes more room than a pitched one.
    """
    if len(shape) < 3:
        return strides(shape, "pitched" if len(shape) == 2 else "contiguous")
    if way == "sliced":
        extra = 1 if shape[-1] <= _PADDING * shape[-2] else 0
        return (*strides((*shape[:-2], (shape[-2] + extra) * shape[-1]), "contiguous")[:-1], shape[-1], 1)
    turned = (*shape[:-3], shape[-2], shape[-3], shape[-1])
    *outer, second, third, last = strides(turned, "contiguous" if way == "turned" else "pitched")
    return (*outer, third, second, last)


def spread(shape: tuple[int, ...], layout: Layout) -> int:
    """Compute an upper bound of the elements from the first to the last of a tensor in `layout`, gaps included."""
    if layout == "pitched" and shape:
        return math.prod(shape[:-1]) * (shape[-1] + _PADDING)
    return (2 if layout == "strided" else 1) * math.prod(shape)


def _fits(layout: Layout, tensor: Input) -> bool:
    if layout == "channels_last":
        return len(tensor.shape) == 4
    needed = {"strided": 1, "expanded": 1, "transposed": 2, "pitched": 2}
    return len(tensor.shape) >= needed.get(layout, 0)
