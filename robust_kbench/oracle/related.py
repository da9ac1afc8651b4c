"""Inputs that stand in a known relation to others: scaled, permuted, made of small integers."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from robust_kbench.cases.draw import Draw
from robust_kbench.cases.values import Inputs
from robust_kbench.errors import SpecError
from robust_kbench.oracle.agreement import DIGITS, Tensors
from robust_kbench.schema import arithmetic
from robust_kbench.schema.task import Input, Output, Property, Task

_SPAN = 128  # exp(-128) is zero in float32; constants lie in the upper third
_NEAR = 4  # what is shifted lies within [-4, 4]


def scales(value: torch.Tensor | int | float, power: int, degree: int) -> bool:
    """Tell if `value` times 2**power is exact, and so far from the ends of the range that its powers stay in it.

    Only float16 may be subnormal: nothing flushes that to zero. An op of degree zero may divide by a norm: its squares
    stay in range, too.
    """
    if not isinstance(value, torch.Tensor):
        return isinstance(value, float)
    limits, magnitude, factor = torch.finfo(value.dtype), value.double().abs(), 2.0**power
    smallest = float(torch.where(magnitude > 0, magnitude, torch.inf).min()) * min(1.0, factor)
    largest = float(magnitude.max()) * max(1.0, factor)
    is_inside = max(largest, largest ** (degree or 2)) <= limits.max / 4
    if value.dtype == torch.float16:
        return is_inside and bool((value * factor / factor == value).all())
    return is_inside and smallest >= limits.smallest_normal


def integers(value: torch.Tensor, bound: int, density: float, generator: torch.Generator) -> torch.Tensor:
    """Draw integers in [-bound, bound] in place of real numbers, all zero but for a share of `density`."""
    if not value.dtype.is_floating_point:
        return value
    drawn = torch.randint(-bound, bound + 1, value.shape, generator=generator)
    if density < 1:
        drawn *= torch.rand(value.shape, generator=generator) < density
    return drawn.to(value.dtype)


def shifted_pair(
    value: torch.Tensor, generator: torch.Generator, digits: int = 53
) -> tuple[torch.Tensor, torch.Tensor]:
    """Round `value` so that adding a constant to each row is exact, in `digits` at most; return both.

    The constants lie past the largest argument of exp in float32, on either side, so that a missing subtraction of the
    maximum shows. A maximum that begins with zero leaves nothing of the exponentials of a low row.
    """
    grid = 2.0 ** max(_SPAN.bit_length() - 1 - min(digits, DIGITS[value.dtype]), -20)
    rounded = (value.double() / grid).round().mul(grid).clamp(-_NEAR, _NEAR)
    shape = (*value.shape[:-1], 1)
    sign = torch.randint(0, 2, shape, generator=generator) * 2 - 1
    constant = torch.randint(2 * _SPAN // 3, _SPAN - _NEAR, shape, generator=generator) * sign
    return rounded.to(value.dtype), (rounded + constant).to(value.dtype)


def axis_of(task: Task, prop: Property, tensors: Sequence[Input | Output]) -> str:
    """Return the axis of `prop`. Raises SpecError where the task's shapes do not fit.

    No size may have the axis only as a part, such as `2 * axis`. An input must have it; for permutes and causal, an
    output as well.
    """
    axis = prop.axis or ""
    for tensor in tensors:
        for size in tensor.shape:
            if size != axis and axis in arithmetic.names(size):
                raise SpecError(f"{task.name}: {prop.kind} along {axis}: the size {size!r} mixes it with others")
    if not any(axis in spec.shape for spec in task.inputs.values()):
        raise SpecError(f"{task.name}: {prop.kind} along {axis}: no input has that axis")
    if prop.kind in ("permutes", "causal") and not any(axis in spec.shape for spec in task.outputs.values()):
        raise SpecError(f"{task.name}: {prop.kind} along {axis}: no output has that axis")
    return axis


def random_order(size: int, draw: Draw) -> torch.Tensor | None:
    """Draw a random permutation that is not the identity; None where there is none."""
    if size < 2:
        return None
    order = torch.randperm(size, generator=torch.Generator().manual_seed(draw.bits()))
    return order.roll(1) if bool((order == torch.arange(size)).all()) else order


def permuted(tensor: torch.Tensor, spec: Input | Output, axis: str, order: torch.Tensor) -> torch.Tensor:
    """Permute `tensor` along every dimension that is `axis`."""
    for dim, size in enumerate(spec.shape):
        if size == axis:
            tensor = tensor.index_select(dim, order)
    return tensor


def permuted_inputs(task: Task, axis: str, inputs: Inputs, order: torch.Tensor) -> Inputs:
    """Permute inputs along `axis`; indices that point along it follow."""
    values = dict(inputs.values)
    for name, tensor in inputs.tensors.items():
        spec = task.inputs[name]
        if spec.below == axis:
            tensor = order.argsort()[tensor.long()].to(tensor.dtype)
        values[name] = permuted(tensor, spec, axis, order)
    return Inputs(values)


def spliced(task: Task, axis: str, cut: int, inputs: Inputs, fresh: Inputs) -> Inputs:
    """Join `inputs` up to position `cut` of `axis` and `fresh` from there on."""
    values = dict(inputs.values)
    for name, tensor in inputs.tensors.items():
        if axis in (shape := task.inputs[name].shape):
            dim = shape.index(axis)
            early, late = tensor.narrow(dim, 0, cut), fresh.tensors[name]
            values[name] = torch.cat((early, late.narrow(dim, cut, late.shape[dim] - cut)), dim)
    return Inputs(values)


def before(task: Task, axis: str, cut: int, outputs: Tensors) -> dict[str, torch.Tensor]:
    """Return the part before position `cut` of every output that has `axis`."""
    return {
        name: outputs[name].narrow(spec.shape.index(axis), 0, cut)
        for name, spec in task.outputs.items()
        if axis in spec.shape
    }


def pointed_at(task: Task, inputs: Inputs, outputs: Tensors) -> dict[str, torch.Tensor]:
    """Replace indices in `outputs` by the values that they point at, as their order among equal values is free."""
    found = dict(outputs)
    for name, spec in task.outputs.items():
        if spec.indexes is not None:
            source = inputs.tensors[spec.indexes]
            axis, index = spec.axis % source.dim(), outputs[name].long()
            is_one_each = index.dim() < source.dim()
            wide = (index.unsqueeze(axis) if is_one_each else index).clamp(0, source.shape[axis] - 1)
            values = source.gather(axis, wide)
            found[name] = values.squeeze(axis) if is_one_each else values
    return found
