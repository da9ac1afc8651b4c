"""Launches of kernels by trusted code (abi `launch`): the kernel, the number of threads, and the arguments."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated

from pydantic import Field, field_validator

from robust_kbench.schema import arithmetic
from robust_kbench.schema.documents import Strict

MAX_LAUNCHES = 32
_Name = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,99}$")]
_Size = int | Annotated[str, Field(max_length=200)]


def _checked(size: int | str) -> int | str:
    arithmetic.names(size)
    return size


class Launch(Strict):
    """Launch of one kernel. Sizes are integers or integer arithmetic over the task's axes."""

    kernel: _Name = Field(description='name of an extern "C" __global__ function')
    grid: tuple[_Size, ...] = Field(min_length=1, max_length=3, description="blocks; no launch where one is 0")
    block: tuple[_Size, ...] = Field(min_length=1, max_length=3, description="threads of a block")
    shared_bytes: _Size = Field(default=0, description="dynamic shared memory of a block")
    arguments: tuple[_Name, ...] = Field(max_length=64, description="names of inputs, outputs, axes and scratch")

    @field_validator("grid", "block")
    @classmethod
    def _are_sizes(cls, sizes: tuple[int | str, ...]) -> tuple[int | str, ...]:
        return tuple(map(_checked, sizes))

    @field_validator("shared_bytes")
    @classmethod
    def _is_size(cls, size: int | str) -> int | str:
        return _checked(size)

    def unknown(self, known: Collection[str], axes: Collection[str]) -> str | None:
        """Return the first name that is neither a known argument nor, in a size, an axis; None if there is none."""
        strangers = [name for name in self.arguments if name not in known]
        sizes = (*self.grid, *self.block, self.shared_bytes)
        strangers += sorted({name for size in sizes for name in arithmetic.names(size)} - set(axes))
        return strangers[0] if strangers else None
