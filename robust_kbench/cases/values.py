"""Value distributions, one function each: what can be told apart depends on what is fed in.

Standard normal values reveal rounded inputs, positive ones low-precision accumulators, integers missing terms, large
and wide-ranging ones overflow and a missing maximum subtraction, sparse ones skipped work, outliers short cuts that
look at a sample. All are finite, in a range in which an honest kernel with float32 accumulation stays accurate.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch

from robust_kbench.cases import layouts
from robust_kbench.cases.draw import Draw
from robust_kbench.schema import arithmetic
from robust_kbench.schema.case import Case
from robust_kbench.schema.task import Distribution, Input, Task, shape_of

_LARGE = 30.0
_Values = Callable[[tuple[int, ...], torch.Generator], torch.Tensor]


def _normal(shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    return torch.randn(shape, generator=generator)


def _uniform(shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    return torch.rand(shape, generator=generator)


def _lognormal(shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    values = torch.randn(shape, generator=generator)
    signs = values.view(torch.int32).bitwise_and(1).bitwise_left_shift_(31)  # of a random last bit
    values.mul_(0.8).exp_().view(torch.int32).bitwise_or_(signs)
    return values


def _integers(shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    return torch.randint(-8, 9, shape, generator=generator).float()


def _large(shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    return torch.randn(shape, generator=generator).mul_(_LARGE)


def _sparse(shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    kept = torch.rand(shape, generator=generator) < 0.01
    if kept.numel():  # an input of zeros alone would let zeros pass
        kept.view(-1)[int(torch.randint(kept.numel(), (1,), generator=generator))] = True
    return _normal(shape, generator) * kept


def _outliers(shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    values = _normal(shape, generator)
    return torch.where(torch.rand(shape, generator=generator) < 0.002, values * _LARGE, values)


DISTRIBUTIONS: Mapping[Distribution, _Values] = {
    "normal": _normal,
    "uniform": _uniform,
    "lognormal": _lognormal,
    "integers": _integers,
    "large": _large,
    "sparse": _sparse,
    "outliers": _outliers,
}


@dataclass(frozen=True)
class Inputs:
    """The arguments of one case: private dense tensors and scalars, in the task's order."""

    values: Mapping[str, torch.Tensor | int | float]

    @property
    def tensors(self) -> dict[str, torch.Tensor]:
        """The arguments that are tensors."""
        return {name: value for name, value in self.values.items() if isinstance(value, torch.Tensor)}

    @property
    def digest(self) -> str:
        """First 16 hex digits of the sha256 of all values."""
        state = hashlib.sha256()
        for name, value in self.values.items():
            content = _bytes(value) if isinstance(value, torch.Tensor) else repr(value).encode()
            state.update(name.encode() + b"\0")
            state.update(content)
        return state.hexdigest()[:16]


def make_inputs(task: Task, case: Case) -> Inputs:
    """The inputs of `case`, bit for bit the same on every call. Each input has a random stream of its own."""
    return Inputs({name: _make(task, case, name, spec) for name, spec in task.inputs.items()})


def _make(task: Task, case: Case, name: str, spec: Input) -> torch.Tensor | int | float:
    draw = Draw(case.seed, name)
    if spec.role == "scalar":
        value = draw.choice(spec.choices) if spec.choices else arithmetic.evaluate(spec.value or 0, case.axes)
        return int(value) if spec.dtype == "int64" else float(value)
    generator = torch.Generator().manual_seed(draw.bits())
    shape = shape_of(spec, case.axes)
    is_repeated = layouts.layout_of(spec, case.layout, dense=False) == "expanded"
    values = _draw_values(task, case, spec, (1, *shape[1:]) if is_repeated else shape, generator)
    return values.expand(shape) if is_repeated else values


def _draw_values(
    task: Task, case: Case, spec: Input, shape: tuple[int, ...], generator: torch.Generator
) -> torch.Tensor:
    dtype = getattr(torch, task.dtype_of(spec, case.dtype))
    if spec.role in ("index", "mask"):
        bound = arithmetic.evaluate(spec.below or 1, case.axes) if spec.role == "index" else 2
        return torch.randint(0, bound, shape, generator=generator, dtype=dtype)
    values = DISTRIBUTIONS[case.distribution if spec.role == "activation" else "normal"](shape, generator)
    fan_in = arithmetic.evaluate(spec.fan_in, case.axes)
    if fan_in != 1:
        values = values / fan_in**0.5
    if spec.shift:
        values = values + spec.shift
    return values.to(dtype)


def _bytes(tensor: torch.Tensor) -> memoryview:
    return memoryview(tensor.contiguous().reshape(-1).view(torch.uint8).numpy().data)
