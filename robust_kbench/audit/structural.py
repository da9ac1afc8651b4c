"""Variants that are right unless an input is laid out as real data is, and uniform values never are.

Each stands for a kernel that makes room for usual data: bins of four times the average, no row that is masked as a
whole, factors that are not quite one, scalars that tutorials use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch

from robust_kbench.audit.setting import Setting, Tensors
from robust_kbench.audit.variants import Variant
from robust_kbench.cases.structures import structures_of
from robust_kbench.cases.values import Inputs, bound_of
from robust_kbench.schema.task import Input, Task

_ROOM, _LEAST_ROOM = 4, 8
_LARGEST_FACTOR, _LEAST_NUMBER = 0.99, 1e-3

Change = Callable[[torch.Tensor, int], torch.Tensor]


@dataclass(frozen=True)
class Structural:
    """The reference with one input changed by a function of it and of its bound, which is zero of other roles."""

    name: str
    change: Change

    def __call__(self, setting: Setting) -> Tensors:
        """PyTorch's answer to the changed input."""
        spec = setting.task.spec.inputs[self.name]
        bound = bound_of(setting.case, spec) if spec.role == "index" else 0
        changed = self.change(setting.inputs.tensors[self.name], bound)
        return setting.reference.native(Inputs({**setting.inputs.values, self.name: changed}))


@dataclass(frozen=True)
class Usual:
    """The reference with a scalar that lies among those of `choices`."""

    name: str

    def __call__(self, setting: Setting) -> Tensors:
        """PyTorch's answer to the nearest of the usual scalars."""
        choices = setting.task.spec.inputs[self.name].choices
        value = setting.inputs.values[self.name]
        assert not isinstance(value, torch.Tensor)
        usual = type(value)(min(max(value, min(choices)), max(choices)))
        return setting.reference.native(Inputs({**setting.inputs.values, self.name: usual}))


def structural_variants(task: Task) -> Iterator[Variant]:
    """Yield those of every input that has structures, or a scalar's range."""
    for name, spec in task.inputs.items():
        for title, description, change in _changes(spec):
            yield Variant(f"{name}_{title}", "mutant", description.format(name), Structural(name, change))
        if spec.role == "scalar" and spec.between is not None and _is_wider(spec):
            description = f"A scalar {name} beyond the usual ones is taken for the nearest of these."
            yield Variant(f"{name}_usual", "mutant", description, Usual(name))


def _is_wider(spec: Input) -> bool:
    low, high = spec.between or (0.0, 0.0)
    return low < min(spec.choices) or high > max(spec.choices)


def _changes(spec: Input) -> Iterator[tuple[str, str, Change]]:
    known = set(structures_of(spec))
    if spec.role == "index" and not spec.offsets and known & {"one", "two"}:
        yield "crowded", "Of {}, more than four times the average of one value are taken for the next.", _crowded
    if spec.offsets and "dominated" in known:
        yield "cut", "Between two of {} is room for four times the average; what is more belongs to the next.", _cut
    if spec.role == "mask" and "all" in known:
        yield "full_rows_lost", "Rows of {} that are all ones are taken for zeros.", _without_full_rows
    if spec.role == "mask" and "none" in known:
        yield "empty_rows_filled", "Rows of {} that are all zeros are taken for ones.", _without_empty_rows
    if known & {"ones", "near_one"}:
        yield "not_quite_one", "Numbers of {} are at most 0.99.", lambda x, _: x.clamp(max=_LARGEST_FACTOR)
    if "negative" in known:
        yield "without_sign", "Numbers of {} lose their sign.", lambda x, _: x.abs()
    if "tiny" in known:
        yield "not_tiny", "Numbers of {} are at least a thousandth.", lambda x, _: x.clamp(min=_LEAST_NUMBER)


def _crowded(index: torch.Tensor, bound: int) -> torch.Tensor:
    flat = index.reshape(-1).long()
    room = max(_LEAST_ROOM, _ROOM * -(-len(flat) // max(1, bound)))
    order = flat.argsort(stable=True)
    rank = torch.empty_like(flat)
    rank[order] = torch.arange(len(flat)) - torch.searchsorted(flat[order], flat[order])
    moved = torch.where(rank < room, flat, (flat + 1) % max(1, bound))
    return moved.reshape(index.shape).to(index.dtype)


def _cut(offsets: torch.Tensor, bound: int) -> torch.Tensor:
    """Offsets ascend from zero to the largest along the last dimension, which the last one stays."""
    segments = max(1, offsets.shape[-1] - 1)
    total = offsets[..., -1:].long()
    room = torch.clamp(_ROOM * -(-total // segments), min=_LEAST_ROOM)
    moved = offsets.long().clone()
    for place in range(1, offsets.shape[-1] - 1):
        moved[..., place] = torch.minimum(offsets[..., place].long(), moved[..., place - 1] + room[..., 0])
    return moved.to(offsets.dtype)


def _without_full_rows(mask: torch.Tensor, _: int) -> torch.Tensor:
    return torch.where((mask != 0).all(-1, keepdim=True), torch.zeros_like(mask), mask)


def _without_empty_rows(mask: torch.Tensor, _: int) -> torch.Tensor:
    return torch.where((mask == 0).all(-1, keepdim=True), torch.ones_like(mask), mask)
