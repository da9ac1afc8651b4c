"""Variants that call the reference with other inputs: less precise ones, a constant for one, two swapped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from robust_kbench.audit.lower_precision import lower
from robust_kbench.audit.setting import Setting, Tensors
from robust_kbench.cases.contract import rounding
from robust_kbench.cases.values import Inputs
from robust_kbench.oracle.digits import rounded
from robust_kbench.schema.task import Task


@dataclass(frozen=True)
class Rounded:
    """The reference of inputs rounded to less than the contract allows: all of them, or one."""

    only: str | None = None

    def __call__(self, setting: Setting) -> Tensors:
        """PyTorch's answer to the rounded inputs."""
        precision = setting.task.spec.precision
        reals = _reals(setting)
        return _answer(setting, {n: lower(x, precision) for n, x in reals.items() if self.only in (None, n)})


def as_the_contract_allows(setting: Setting) -> Tensors | None:
    """PyTorch's answer to inputs that are rounded as far as the contract lets them be; None where it does not."""
    digits = rounding(setting.task.spec.precision, setting.case.dtype).factor_digits
    return None if digits is None else _answer(setting, {n: rounded(x, digits) for n, x in _reals(setting).items()})


@dataclass(frozen=True)
class Ignored:
    """The reference with one input held constant: ones or, where its values are spread around zero, zeros."""

    name: str

    def __call__(self, setting: Setting) -> Tensors:
        """PyTorch's answer without the input."""
        value = setting.inputs.values[self.name]
        spec = setting.task.spec.inputs[self.name]
        if isinstance(value, torch.Tensor):
            return _answer(setting, {self.name: torch.full_like(value.contiguous(), int(bool(spec.shift)))})
        return _answer(setting, {self.name: type(value)(spec.choices[0])})


@dataclass(frozen=True)
class Swapped:
    """The reference with two inputs of one shape and dtype exchanged."""

    first: str
    second: str

    def __call__(self, setting: Setting) -> Tensors:
        """PyTorch's answer to the exchanged inputs."""
        values = setting.inputs.values
        return _answer(setting, {self.first: values[self.second], self.second: values[self.first]})


def ignorable(task: Task) -> Iterator[str]:
    """Inputs that can be held constant: tensors, and scalars that are drawn."""
    for name, spec in task.inputs.items():
        if spec.role != "scalar" or len(set(spec.choices)) > 1:
            yield name


def swappable(task: Task) -> Iterator[tuple[str, str]]:
    """Neighbours among the inputs that have the same shape, dtype and role."""
    specs = list(task.inputs.items())
    for (first, one), (second, other) in zip(specs, specs[1:], strict=False):
        if one.role != "scalar" and (one.shape, one.dtype, one.role) == (other.shape, other.dtype, other.role):
            yield first, second


def _reals(setting: Setting) -> dict[str, torch.Tensor]:
    return {name: tensor for name, tensor in setting.inputs.tensors.items() if tensor.is_floating_point()}


def _answer(setting: Setting, changes: Mapping[str, Any]) -> Tensors:
    return setting.reference.native(Inputs({**setting.inputs.values, **changes}))
