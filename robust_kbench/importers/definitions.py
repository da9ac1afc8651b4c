"""JSON of flashinfer-trace and SOL-ExecBench: definitions, workloads and solutions, as far as it is used here.

Formats: flashinfer-bench (arXiv:2601.00227) and NVIDIA's SOL-ExecBench, which extends it. Keys that do not concern the
computation are passed over.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from robust_kbench.schema.documents import Strict

Short = Annotated[str, Field(max_length=300)]
Identifier = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=80)]
DTYPES = {
    "float64": "float64", "float32": "float32", "float16": "float16", "bfloat16": "bfloat16",
    "int64": "int64", "int32": "int32", "uint8": "uint8", "bool": "bool",
}  # fmt: skip
"""Dtypes of the formats -> torch's; kbench has none of the others."""


class _Foreign(Strict):
    """Foreign document, in which keys that we do not know are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True, allow_inf_nan=False)


class ForeignAxis(_Foreign):
    """Axis that is `const` with a value, `var`, or `expr` with an expression over others."""

    type: Literal["const", "var", "expr"]
    value: int | None = Field(default=None, ge=0, lt=1 << 40)
    expression: str | None = Field(default=None, max_length=200)


class ForeignTensor(_Foreign):
    """Tensor with a shape and a dtype; where `shape` is null, it is a number."""

    shape: tuple[Identifier, ...] | None
    dtype: Short


class Definition(_Foreign):
    """Definition of a computation: axes, inputs, outputs and the reference."""

    name: Annotated[str, Field(min_length=1, max_length=300)]
    axes: dict[Identifier, ForeignAxis] = Field(max_length=64)
    inputs: dict[Identifier, ForeignTensor] = Field(min_length=1, max_length=128)
    outputs: dict[Identifier, ForeignTensor] = Field(min_length=1, max_length=32)
    reference: str = Field(max_length=1 << 20)
    constraints: tuple[Short, ...] | None = None
    custom_inputs_entrypoint: Identifier | None = None

    def foreign_dtypes(self) -> list[str]:
        """List the dtypes that kbench does not have."""
        return sorted({each.dtype for each in (*self.inputs.values(), *self.outputs.values())} - set(DTYPES))

    def sizes(self, variable: dict[str, int]) -> dict[str, int]:
        """Return the size of every axis for these variable ones. Raises ValueError for a wrong expression."""
        known = {
            name: axis.value for name, axis in self.axes.items() if axis.type == "const" and axis.value is not None
        }
        known |= {name: size for name, size in variable.items() if name in self.axes}
        left = {name: axis.expression or "" for name, axis in self.axes.items() if axis.type == "expr"}
        while left:
            ready = [name for name, text in left.items() if _names(text) <= set(known)]
            if not ready:
                raise ValueError(f"axes {', '.join(left)}: their expressions mention what is no axis")
            for name in ready:
                known[name] = _evaluated(left.pop(name), known)
        return known


class ForeignInput(_Foreign):
    """Source from which a workload takes an input."""

    type: Short
    value: Annotated[int, Field(ge=-(1 << 63), lt=1 << 63)] | float | bool | None = None


class Workload(_Foreign):
    """Sizes that are measured, and the sources of the inputs."""

    axes: dict[Identifier, Annotated[int, Field(ge=0, lt=1 << 40)]]
    inputs: dict[Identifier, ForeignInput] = {}


class Spec(_Foreign):
    """Specification of the way to build and call a solution."""

    languages: tuple[Short, ...] = ()
    language: Short | None = None
    entry_point: Short
    destination_passing_style: bool = True
    compile_options: dict[str, Any] | None = None


class ForeignSource(_Foreign):
    """Source file of a solution: its path and its content."""

    path: Annotated[str, Field(min_length=1, max_length=200)]
    content: str = Field(max_length=1 << 20)


class Solution(_Foreign):
    """Kernel for a definition, with its sources and their specification."""

    name: Annotated[str, Field(min_length=1, max_length=300)]
    definition: Annotated[str, Field(min_length=1, max_length=300)]
    author: str = ""
    spec: Spec
    sources: tuple[ForeignSource, ...] = Field(min_length=1, max_length=64)


def _names(text: str) -> set[str]:
    return set(re.findall(r"[A-Za-z_]\w*", text))


def _evaluated(text: str, known: dict[str, int]) -> int:
    """Evaluate a foreign expression, which divides with one stroke where the result is whole."""
    from robust_kbench.schema import arithmetic

    return arithmetic.evaluate(re.sub(r"(?<!/)/(?!/)", "//", text), known)
