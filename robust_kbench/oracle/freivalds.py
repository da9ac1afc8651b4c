"""Freivalds' check: an op that is linear along an axis is verified by its values on random combinations of slices.

If f(..., B) is linear in B and passes the axis n of B through, as a product of matrices does, then f(..., B) X =
f(..., B X) for every X, so that a reference with `COLUMNS` slices instead of n tells whether Y is right: with X of
random signs, every column of R = Y X - f(..., B X) is a sum of the errors of Y with random signs, and the root mean
square over the columns estimates the norm of the errors of each fibre of Y along n (Freivalds 1977; here with rounding
errors, so that the size of R counts and not whether it is zero). An affine f, such as a product plus a bias without the
axis, is corrected by f(..., 0). Rows and columns of a product are two axes, and both are checked.

With s columns the square of such an estimate follows chi squared with s degrees of freedom, so that the limits of the
rule are widened by its root at one false alarm in 10**9: of a fibre among 10**5, and of the whole, which is no better
known than one fibre where all rows have the same error (a truncating store, and values that are all alike).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

import torch

from robust_kbench.cases.draw import Draw
from robust_kbench.cases.values import Inputs
from robust_kbench.oracle.judgement import Judgement
from robust_kbench.schema import arithmetic
from robust_kbench.schema.task import Task

COLUMNS = 32
_WHOLE_WIDENING, _FIBRE_WIDENING = 1.82, 2.06  # roots of the quantiles at 1 - 1e-9 and 1 - 1e-14, over 32
_FIBRE_FLOOR = 0.25  # the rule's: a fibre that cancels errs by the size of its terms
_HALF_QUANTUM = 2.0**-24
_EXACT = 2.0**-50  # below the smallest residual of a wrong integer, above none
_BLOCK_ELEMENTS = 1 << 20
_TINY = 1e-300
_PROOF_TOLERANCE = 1e-9


class Exactly(Protocol):
    """Reference that can be run in float64."""

    def exact(self, inputs: Inputs) -> Mapping[str, torch.Tensor]:
        """Compute the outputs for `inputs` in float64."""


class Freivalds:
    """Standard that holds an output to random combinations of its slices along one axis.

    `expected` is the float64 result on the combinations: the output's shape with `COLUMNS` in dimension `dim`. `near`
    is nearly the right answer and gives the scale; `limits` are those of the rule, for the whole and for a row in
    front. `is_exact`: every right value is an integer that the dtype holds, so that no error is due.
    """

    def __init__(
        self,
        expected: torch.Tensor,
        signs: torch.Tensor,
        dim: int,
        near: torch.Tensor,
        limits: Sequence[float],
        is_exact: bool = False,
    ) -> None:
        self._expected, self._signs, self._dim = expected, signs, dim
        norms = torch.linalg.vector_norm(near, dim=dim, dtype=torch.float64)
        self._norm = float(torch.linalg.vector_norm(norms))
        self._length = near.shape[dim]
        floor = _FIBRE_FLOOR * self._norm * math.sqrt(self._length / max(1, near.numel()))
        self._scale = norms.clamp_(min=floor + _TINY)
        self._is_exact = is_exact
        widened = _WHOLE_WIDENING * limits[0], _FIBRE_WIDENING * limits[1]
        self._limits = (_EXACT, _EXACT) if is_exact else widened

    def judge(self, answer: torch.Tensor) -> Judgement:
        """Compute two errors: of the whole, and of the worst fibre."""
        errors = self._errors(answer)
        nonfinite = 0 if all(map(math.isfinite, errors)) else int((~answer.isfinite()).sum())
        broken = not all(error <= limit for error, limit in zip(errors, self._limits, strict=True))
        return Judgement(errors, self._limits, nonfinite, self._demand(errors) if broken else "")

    def is_wrong(self, answer: torch.Tensor) -> torch.Tensor:
        """Mark every element of a fibre that is off."""
        far = ~(self._residual(answer).div_(self._scale) <= self._limits[1])
        return far.unsqueeze(self._dim).expand(answer.shape)

    def _errors(self, answer: torch.Tensor) -> tuple[float, float]:
        if answer.numel() == 0:
            return 0.0, 0.0
        residual = self._residual(answer)
        return float(torch.linalg.vector_norm(residual)) / (self._norm + _TINY), float((residual / self._scale).max())

    def _residual(self, answer: torch.Tensor) -> torch.Tensor:
        """Estimate the norm of the error of each fibre."""
        difference = contract(answer, self._dim, self._signs).sub_(self._expected)
        estimate: torch.Tensor = torch.linalg.vector_norm(difference, dim=self._dim).div_(math.sqrt(COLUMNS))
        if answer.dtype == torch.float16 and not self._is_exact:
            estimate.sub_(_HALF_QUANTUM * math.sqrt(self._length)).clamp_(min=0.0)
        return estimate

    def _demand(self, errors: tuple[float, float]) -> str:
        named = zip(("whole tensor", f"worst fibre along dimension {self._dim}"), errors, self._limits, strict=True)
        return "error on random combinations of slices: " + "; ".join(
            f"{name} {error:.2g}, allowed {limit:.2g}" for name, error, limit in named if not error <= limit
        )


def linear_axes(task: Task, reference: Exactly, inputs: Inputs) -> list[str]:
    """Find the axes along which every output is linear or affine, by trying. `inputs` are those of a small case.

    Random values in float64 stand in for the inputs: an identity between polynomials that holds for them holds in
    general.
    """
    generator = torch.Generator().manual_seed(0)
    values = {name: _random(value, generator) for name, value in inputs.values.items()}
    random = Inputs(values)
    return [axis for axis in task.axes if _is_carried(task, axis) and _is_linear(task, reference, random, axis)]


def projections(
    task: Task, reference: Exactly, inputs: Inputs, axis: str, signs: torch.Tensor
) -> dict[str, torch.Tensor]:
    """Compute the float64 outputs combined along `axis` by `signs` [size, columns], at the cost of as many slices."""
    combined, empty = {}, {}
    for name, value in _along(task, axis, inputs):
        dim = task.inputs[name].shape.index(axis)
        combined[name] = contract(value, dim, signs)
        empty[name] = torch.zeros_like(value.narrow(dim, 0, 1), dtype=torch.float64)
    linear = reference.exact(Inputs({**inputs.values, **combined}))
    constant = reference.exact(Inputs({**inputs.values, **empty}))
    found = {}
    for name, value in linear.items():
        dim = task.outputs[name].shape.index(axis)
        excess = (signs.sum(0) - 1.0).reshape(-1, *[1] * (value.dim() - dim - 1))
        found[name] = value + constant[name] * excess
    return found


def random_signs(size: int, draw: Draw) -> torch.Tensor:
    """Draw [size, COLUMNS] of 1 and -1 in float64, which the submission cannot know before it answers."""
    generator = torch.Generator().manual_seed(draw.bits())
    return torch.randint(0, 2, (size, COLUMNS), generator=generator).mul_(2).sub_(1).double()


def contract(tensor: torch.Tensor, dim: int, weights: torch.Tensor) -> torch.Tensor:
    """Combine slices along `dim` by `weights` [size, columns], in float64, a block at a time."""
    outer, size, inner = math.prod(tensor.shape[:dim]), tensor.shape[dim], math.prod(tensor.shape[dim + 1 :])
    view = tensor.reshape(outer, size, inner)
    result = torch.zeros(outer, weights.shape[1], inner, dtype=torch.float64)
    for rows, piece in _blocks(outer, size, inner):
        part, factors = view[rows, piece].double(), weights[piece]
        result[rows] += (part[..., 0] @ factors).unsqueeze(-1) if inner == 1 else factors.T @ part
    return result.reshape(*tensor.shape[:dim], weights.shape[1], *tensor.shape[dim + 1 :])


def _blocks(outer: int, size: int, inner: int) -> Iterator[tuple[slice, slice]]:
    width = max(1, min(size, _BLOCK_ELEMENTS // max(1, inner)))
    step = max(1, _BLOCK_ELEMENTS // max(1, width * inner))
    for row in range(0, outer, step):
        for start in range(0, size, width):
            yield slice(row, row + step), slice(start, start + width)


def _random(value: torch.Tensor | int | float, generator: torch.Generator) -> torch.Tensor | int | float:
    """Draw normal values in float64 in place of real numbers; return other values as they are."""
    if not isinstance(value, torch.Tensor) or not value.dtype.is_floating_point:
        return value
    return torch.randn(value.shape, generator=generator, dtype=torch.float64)


def _along(task: Task, axis: str, inputs: Inputs) -> list[tuple[str, torch.Tensor]]:
    return [(name, value) for name, value in inputs.tensors.items() if axis in task.inputs[name].shape]


def _is_carried(task: Task, axis: str) -> bool:
    """Tell if inputs of real numbers have the axis once, no other input has it, and every output has it once."""
    carriers = 0
    for spec in task.inputs.values():
        is_real = spec.dtype == "T" or spec.dtype.startswith("float")
        count = sum(axis in arithmetic.names(size) for size in spec.shape)
        if count > (1 if is_real and axis in spec.shape else 0):
            return False
        carriers += count
    once = all(
        axis in spec.shape and sum(axis in arithmetic.names(size) for size in spec.shape) == 1
        for spec in task.outputs.values()
    )
    return carriers > 0 and once


def _is_linear(task: Task, reference: Exactly, inputs: Inputs, axis: str) -> bool:
    name, carrier = _along(task, axis, inputs)[0]
    size = carrier.shape[task.inputs[name].shape.index(axis)]
    weights = torch.randn(size, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    outputs = reference.exact(inputs)
    try:
        projected = projections(task, reference, inputs, axis, weights)
    except (RuntimeError, ValueError, IndexError):
        return False  # the op does not take other sizes along this axis alone
    return all(
        _is_close(contract(outputs[name], spec.shape.index(axis), weights), projected[name])
        for name, spec in task.outputs.items()
    )


def _is_close(one: torch.Tensor, other: torch.Tensor) -> bool:
    if one.shape != other.shape:
        return False
    scale = float(one.abs().max()) if one.numel() else 0.0
    return bool(((one - other).abs() <= _PROOF_TOLERANCE * scale).all())
