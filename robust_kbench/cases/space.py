"""Cases that a task has: the suite draws from them, and a search may look through the others, too."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from robust_kbench.cases import layouts
from robust_kbench.schema import arithmetic
from robust_kbench.schema.task import ITEMSIZE, Distribution, FloatDType, Layout, Task, shape_of

_LEAST, _MOST = 2, 1000
"""Factors where the smallest case is beyond the budget: how many times its cost a case may cost, and how many times the
budget the smallest case may cost."""


@dataclass(frozen=True)
class Budget:
    """Limits of the cost of one checked case, and the number of cases."""

    cases: int
    """Number of drawn cases. The cases below come on top of them, and so do the task's pinned cases."""
    elements: int
    """Elements of all inputs and outputs of a case together."""
    flops: float
    timed_bindings: int | None
    """Number of the task's timed bindings that are measured, those that move least first; None means all."""
    probes: int = 1
    """Number of runs of each declared probe, at different sizes."""
    nonfinite: int = 1
    """Number of cases with NaN and infinities among the inputs."""
    every_dtype: bool = True
    """True if probes and non-finite cases are run for each dtype, false if each of them is for one dtype in turn."""
    conjunctions: int | None = 1
    """Number of pairs of axes that are equal once, and of round axes; None means all, long pairs and large cases."""


@dataclass(frozen=True)
class Space:
    """Cases of `task` that `budget` allows, for a submission that declares `dtypes`.

    `dense`: the calling convention passes dense tensors only, so that strided layouts do not apply.
    """

    task: Task
    budget: Budget
    dtypes: tuple[FloatDType, ...]
    dense: bool

    @property
    def layouts(self) -> tuple[Layout, ...]:
        """Layouts that at least one input can take; contiguous first."""
        return tuple(layouts.applicable(self.task, dense=self.dense))

    @property
    def distributions(self) -> tuple[Distribution, ...]:
        """Distributions that the task is well-conditioned for."""
        return self.task.distributions

    def sizes(self, axis: str) -> range | tuple[int, ...]:
        """List every size of `axis` that is not empty, in order; `admits` tells if sizes go together."""
        sizes = self.task.axes[axis].sizes()
        if isinstance(sizes, tuple):
            return tuple(sorted(size for size in sizes if size > 0))
        return sizes[1:] if sizes[0] == 0 else sizes

    def admits(self, axes: Mapping[str, int], dtype: str) -> bool:
        """Tell if `axes` is a case of the task without empty tensors that costs no more than the budget allows."""
        return self.task.misfit(axes) is None and not self._is_empty(axes) and self.affords(axes, dtype)

    def affords(self, axes: Mapping[str, int], dtype: str) -> bool:
        """Tell if the tensors and the work of a case are within the budget; its tensors may be empty.

        If the smallest cases of a task are beyond the budget, as of a whole network, the task has these cases all the
        same, unless they cost more than a thousand times the budget.
        """
        elements, flops = self._price(axes, dtype)
        least_elements, least_flops = self._least
        return elements <= _raised(self.budget.elements, least_elements) and flops <= _raised(
            self.budget.flops, least_flops
        )

    def share(self, axes: Mapping[str, int], dtype: str) -> float:
        """Compute the share of the budget that a case takes: of its elements or of its work, whichever is more."""
        elements, flops = self._price(axes, dtype)
        return max(elements / self.budget.elements, flops / self.budget.flops)

    @cached_property
    def _least(self) -> tuple[int, int]:
        """Cost of the case in which every axis is as small as it can be; zero if there is no such case."""
        axes = {name: next(iter(self.sizes(name)), 0) for name in self.task.axes}
        return self._price(axes, self.dtypes[0]) if self.task.misfit(axes) is None else (0, 0)

    def _price(self, axes: Mapping[str, int], dtype: str) -> tuple[int, int]:
        elements = sum(math.prod(shape_of(tensor, axes)) for tensor in self.task.tensors.values())
        return elements, arithmetic.evaluate(self.task.cost.flops, {**axes, "itemsize": ITEMSIZE[dtype]})

    def _is_empty(self, axes: Mapping[str, int]) -> bool:
        return any(size < 1 for tensor in self.task.tensors.values() for size in shape_of(tensor, axes))


def _raised(budget: float, least: int) -> float:
    """Raise a budget that is too small for the cheapest case, so that this case and its neighbours fit."""
    return budget if not budget < least <= _MOST * budget else _LEAST * least
