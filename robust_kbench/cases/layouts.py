"""How a tensor's elements may lie in memory, and which of that applies to a task."""

from __future__ import annotations

from robust_kbench.schema.task import Input, Layout, Task

_DENSE: tuple[Layout, ...] = ("contiguous", "offset")


def applicable(task: Task, *, dense: bool) -> list[Layout]:
    """Layouts that at least one input of `task` declares and that its shape allows."""
    tensors = [tensor for tensor in task.inputs.values() if tensor.role != "scalar"]
    found = {layout for tensor in tensors for layout in tensor.layouts if _fits(layout, tensor)}
    if dense:
        found &= set(_DENSE)
    return [layout for layout in ("contiguous", "offset", "transposed", "strided", "expanded") if layout in found]


def layout_of(tensor: Input, layout: Layout, *, dense: bool) -> Layout:
    """The layout that `tensor` takes in a case of `layout`: contiguous where it does not apply."""
    applies = layout in tensor.layouts and _fits(layout, tensor) and (not dense or layout in _DENSE)
    return layout if applies else "contiguous"


def strides(shape: tuple[int, ...], layout: Layout) -> tuple[int, ...]:
    """Strides in elements.

    transposed: the last two axes swapped in memory; strided: every second element of a twice as wide last axis;
    expanded: one slice along the first axis, repeated; contiguous and offset: row-major.
    """
    if layout == "transposed":
        swapped = strides((*shape[:-2], shape[-1], shape[-2]), "contiguous")
        return (*swapped[:-2], swapped[-1], swapped[-2])
    if layout == "strided":
        return tuple(2 * step for step in strides(shape, "contiguous"))
    if layout == "expanded":
        return (0, *strides(shape[1:], "contiguous"))
    steps = [1]
    for size in reversed(shape[1:]):
        steps.append(steps[-1] * max(size, 1))
    return tuple(reversed(steps)) if shape else ()


def _fits(layout: Layout, tensor: Input) -> bool:
    needed = {"contiguous": 0, "offset": 0, "strided": 1, "expanded": 1, "transposed": 2}
    return len(tensor.shape) >= needed[layout]
