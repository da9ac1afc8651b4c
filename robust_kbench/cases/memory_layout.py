"""Inputs as they lie in memory in a case of some layout, for the references: submissions get theirs in an arena."""

from __future__ import annotations

import torch

from robust_kbench.cases import layouts
from robust_kbench.cases.values import Inputs
from robust_kbench.schema.task import Layout, Task


def laid_out(task: Task, layout: Layout, inputs: Inputs) -> Inputs:
    """Copy `inputs` to the strides of `layout`. Returns `inputs` itself where that applies to none of them."""
    ways = {name: layouts.layout_of(task.inputs[name], layout, dense=False) for name in inputs.tensors}
    moved = {name: _laid_out(inputs.tensors[name], way) for name, way in ways.items() if way not in layouts.DENSE}
    return Inputs({**inputs.values, **moved}) if moved else inputs


def _laid_out(tensor: torch.Tensor, layout: Layout) -> torch.Tensor:
    if layout == "expanded":
        repeated = tensor[:1].expand_as(tensor)  # of rows that differ, as nearby values do, it would be another tensor
        return repeated if torch.equal(repeated, tensor) else tensor
    shape = tuple(tensor.shape)
    room = tensor.new_zeros(layouts.spread(shape, layout))
    return room.as_strided(shape, layouts.strides(shape, layout)).copy_(tensor)
