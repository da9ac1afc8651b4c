"""Concrete recipe for one set of inputs. Cases never leave the judge."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from robust_kbench.schema.documents import Strict
from robust_kbench.schema.task import Distribution, FloatDType, Layout, Probe


class Case(Strict):
    """Case of a task: enough to rebuild one set of inputs bit for bit."""

    axes: dict[str, int]
    dtype: FloatDType
    layout: Layout = "contiguous"
    distribution: Distribution = "normal"
    seed: int = Field(ge=0, lt=2**63)
    role: Literal["check", "timed"] = "check"
    probe: Probe | None = Field(default=None, description="special values with a stricter rule; overrides distribution")

    def __str__(self) -> str:
        axes = " ".join(f"{name}={size}" for name, size in self.axes.items())
        return f"{axes} {self.dtype} {self.layout} {self.probe or self.distribution}"


class Suite(Strict):
    """Suite of all cases of one seed: the cases that are only checked, and the cases that are timed."""

    seed: int
    checked: tuple[Case, ...]
    timed: tuple[Case, ...]
