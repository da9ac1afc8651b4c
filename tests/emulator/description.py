"""Description of a kernel of the suite: its place, its inputs, its outputs and their tolerances.

Needs torch and the standard library alone, so that the suite also runs on a bare machine with a GPU.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

KERNELS = Path(__file__).parent / "kernels"

Draw = Callable[[torch.Generator], Tensor]
Reference = Callable[..., "Tensor | tuple[Tensor, ...]"]


@dataclass(frozen=True)
class Output:
    """A tensor that the kernel writes, and its tolerance against the reference, which is zero by default.

    An element may differ by `absolute + relative * |expected|`. `absolute` may hold one value per last-axis entry.
    """

    shape: tuple[int, ...]
    dtype: torch.dtype
    relative: float = 0.0
    absolute: float | tuple[float, ...] = 0.0

    @property
    def exact(self) -> bool:
        return self.relative == 0.0 and self.absolute == 0.0


@dataclass(frozen=True)
class Kernel:
    """A source file of the suite with its inputs, outputs and reference."""

    name: str
    inputs: tuple[Draw, ...]
    outputs: tuple[Output, ...]
    scalars: tuple[int, ...]
    reference: Reference
    because: str
    options: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()

    @property
    def source(self) -> Path:
        return KERNELS / f"{self.name}.cu"

    @property
    def topic(self) -> str:
        return self.name.partition("/")[0]

    @property
    def abi(self) -> str:
        return "torch" if self.topic == "torch_abi" else "c"

    def draw(self) -> list[Tensor]:
        """Draw the inputs: the same ones on every machine."""
        generator = torch.Generator().manual_seed(zlib.crc32(self.name.encode()))
        return [draw(generator).contiguous() for draw in self.inputs]

    def expected(self, inputs: Sequence[Tensor]) -> list[Tensor]:
        """Compute the reference on the inputs, one tensor per output."""
        found = self.reference(*inputs)
        return list(found) if isinstance(found, tuple) else [found]


REGISTRY: dict[str, Kernel] = {}


def kernel(
    name: str,
    *,
    outputs: Sequence[Output],
    inputs: Sequence[Draw] = (),
    scalars: Sequence[int] = (),
    because: str = "exact",
    options: Sequence[str] = (),
    libraries: Sequence[str] = (),
) -> Callable[[Reference], Reference]:
    """Register the decorated function as the reference of `kernels/<name>.cu`. `because` justifies the tolerance."""

    def register(reference: Reference) -> Reference:
        REGISTRY[name] = Kernel(
            name,
            tuple(inputs),
            tuple(outputs),
            tuple(scalars),
            reference,
            because,
            tuple(options),
            tuple(libraries),
        )
        return reference

    return register


def result(
    *shape: int,
    dtype: torch.dtype = torch.float32,
    relative: float = 0.0,
    absolute: float | tuple[float, ...] = 0.0,
) -> Output:
    return Output(shape, dtype, relative, absolute)


def uniform(*shape: int, low: float = -2.0, high: float = 2.0, dtype: torch.dtype = torch.float32) -> Draw:
    """Return a draw of numbers between two bounds. It uses random integers alone: those are alike on every machine."""

    def draw(generator: torch.Generator) -> Tensor:
        steps = torch.randint(0, 1 << 24, shape, generator=generator)
        return (low + (high - low) * steps.double() / (1 << 24)).to(dtype)

    return draw


def integers(low: int, high: int, *shape: int, dtype: torch.dtype = torch.int32) -> Draw:
    """Return a draw of integers in [low, high), of any type. Whole floats are exact in every order of addition."""

    def draw(generator: torch.Generator) -> Tensor:
        return torch.randint(low, high, shape, generator=generator).to(dtype)

    return draw


def given(values: Tensor) -> Draw:
    """Return a draw that gives this tensor, and leaves nothing to chance."""
    return lambda generator: values.clone()
