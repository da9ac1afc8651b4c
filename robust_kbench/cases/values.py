"""Make the inputs of a case, bit for bit the same every time. Every input has random streams of its own."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property

import torch

from robust_kbench.cases import large, layouts, probes
from robust_kbench.cases.distributions import draw_values
from robust_kbench.cases.draw import Draw
from robust_kbench.cases.structures import draw_structured, restructured, structure_of
from robust_kbench.schema import arithmetic
from robust_kbench.schema.case import Case
from robust_kbench.schema.task import Distribution, Input, Task, shape_of

_COTANGENTS: tuple[Distribution, ...] = ("normal", "uniform", "one_hot", "lognormal")
_WIDE = 100.0  # a range of as many times its lower end is drawn from order by order
_DRAWN_SHARE = 0.5  # of checked cases: how many draw a scalar from its whole range


@dataclass(frozen=True)
class Inputs:
    """Arguments of one case: private dense tensors and scalars, in the task's order."""

    values: Mapping[str, torch.Tensor | int | float]

    @property
    def tensors(self) -> dict[str, torch.Tensor]:
        """Arguments that are tensors, by their name."""
        return {name: value for name, value in self.values.items() if isinstance(value, torch.Tensor)}

    @property
    def scalars(self) -> dict[int, int | float]:
        """Arguments that are scalars, by their position."""
        return {place: value for place, value in enumerate(self.values.values()) if not isinstance(value, torch.Tensor)}

    @property
    def place(self) -> str:
        """Kind of device that the tensors are on; "cpu" where there are none."""
        return next((tensor.device.type for tensor in self.tensors.values()), "cpu")

    def to(self, place: str) -> Inputs:
        """Copy the values to another kind of device; return itself if they are there already."""
        if self.place == place:
            return self
        return Inputs({n: v.to(place) if isinstance(v, torch.Tensor) else v for n, v in self.values.items()})

    @cached_property
    def digest(self) -> str:
        """First 16 hex digits of the sha256 of all values."""
        state = hashlib.sha256()
        for name, value in self.values.items():
            content = _bytes(value) if isinstance(value, torch.Tensor) else repr(value).encode()
            state.update(name.encode() + b"\0")
            state.update(content)
        return state.hexdigest()[:16]


def make_inputs(task: Task, case: Case, only: Collection[str] | None = None) -> Inputs:
    """Make the inputs of `case`, or the ones named in `only`, bit for bit the same on every call.

    Each input has a random stream of its own.
    """
    names = [name for name in task.inputs if only is None or name in only]
    values = {name: _make(task, case, name, task.inputs[name]) for name in names}
    spoilt = probes.spoilt_input(task, case)
    if spoilt is not None and isinstance(tensor := values[spoilt], torch.Tensor):
        values[spoilt] = probes.spoil(tensor, Draw(case.seed, f"nonfinite {spoilt}"))
    return Inputs(values)


def make_zeros(task: Task, case: Case) -> Inputs:
    """Make inputs of zeros with the shapes of `case`; scalars have their values in the case."""
    scalars = {name for name, spec in task.inputs.items() if spec.role == "scalar"}
    drawn = make_inputs(task, case, only=scalars).values
    return Inputs(
        {
            name: drawn[name]
            if name in scalars
            else torch.zeros(shape_of(spec, case.axes), dtype=getattr(torch, task.dtype_of(spec, case.dtype)))
            for name, spec in task.inputs.items()
        }
    )


def _make(task: Task, case: Case, name: str, spec: Input) -> torch.Tensor | int | float:
    draw = Draw(case.seed, name)
    if spec.role == "scalar":
        return _scalar(spec, case, draw)
    generator = torch.Generator().manual_seed(draw.bits())
    shape = shape_of(spec, case.axes)
    dtype = getattr(torch, task.dtype_of(spec, case.dtype))
    if (probing := probes.make(task, case, name, shape, Draw(case.seed, f"probe {name}"))) is not None:
        return probing.to(dtype)
    is_repeated = layouts.layout_of(spec, case.layout, dense=False) == "expanded"
    distinct = (1, *shape[1:]) if is_repeated else shape

    def make_values(part: tuple[int, ...]) -> torch.Tensor:
        return draw_elements(case, name, spec, part, dtype, generator)

    is_large = math.prod(distinct) > large.LARGE_ELEMENTS
    return (large.repeated(distinct, make_values) if is_large else make_values(distinct)).expand(shape)


def _scalar(spec: Input, case: Case, draw: Draw) -> int | float:
    value = draw.choice(spec.choices) if spec.choices else arithmetic.evaluate(spec.value or 0, case.axes)
    # What can be guessed can be prepared for: a timed call never gets one of a few values.
    if spec.between is not None and (case.role == "timed" or draw.unit() < _DRAWN_SHARE):
        low, high = spec.between
        is_wide = low > 0 and _WIDE * low <= high
        value = low * (high / low) ** draw.unit() if is_wide else low + draw.unit() * (high - low)
    return int(value) if spec.dtype == "int64" else float(value)


def draw_elements(
    case: Case, name: str, spec: Input, shape: tuple[int, ...], dtype: torch.dtype, generator: torch.Generator
) -> torch.Tensor:
    """Draw elements of the input `name`, which is neither a scalar nor takes the values of a probe."""
    structure = structure_of(case, name, spec)
    if spec.role in ("index", "mask"):
        drawn = draw_structured(structure, spec, bound_of(case, spec), shape, generator)
        return arranged(drawn, spec, case, is_sorted=spec.offsets and structure != "uniform").to(dtype)
    values = scaled(draw_values(distribution_of(case, name, spec), shape, generator, dtype), spec, case)
    return restructured(structure, values, generator).to(dtype)


def bound_of(case: Case, spec: Input) -> int:
    """Return the bound of an index or a mask, whose values are drawn from [0, this)."""
    return max(arithmetic.evaluate(spec.below or 1, case.axes), 1) if spec.role == "index" else 2


def arranged(values: torch.Tensor, spec: Input, case: Case, *, is_sorted: bool = False) -> torch.Tensor:
    """Arrange indices as the input wants them: some values never; offsets ascend from zero to the largest."""
    for excluded in sorted(spec.never, reverse=True):
        values = torch.where(values == excluded, excluded - 1, values)
    if not spec.offsets or not values.numel() or is_sorted:
        return values
    ascending = values.sort(-1).values
    ascending[..., -1] = bound_of(case, spec) - 1
    ascending[..., 0] = 0
    return ascending


def scaled(values: torch.Tensor, spec: Input, case: Case) -> torch.Tensor:
    """Scale values of a distribution as the input wants them: over the root of its fan-in, and shifted."""
    fan_in = arithmetic.evaluate(spec.fan_in, case.axes)
    if fan_in != 1:
        values = values / fan_in**0.5
    return values + spec.shift if spec.shift else values


def distribution_of(case: Case, name: str, spec: Input) -> Distribution:
    """Choose the distribution of an input: the case's for activations, and normal for most others.

    An upstream gradient has one of its own, so that the two mix. In timed calls it goes with the case's distribution,
    by which limits are kept from one call to the next.
    """
    if spec.role == "activation":
        return case.distribution
    if spec.role == "gradient" and case.role == "check":
        return Draw(case.seed, f"cotangent {name}").choice(_COTANGENTS)
    follows = spec.role == "gradient" and case.distribution in ("uniform", "lognormal")
    return case.distribution if follows else "normal"


def _bytes(tensor: torch.Tensor) -> memoryview:
    return memoryview(tensor.contiguous().reshape(-1).view(torch.uint8).numpy().data)
