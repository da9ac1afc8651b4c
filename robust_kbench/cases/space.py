"""Which cases a task has: what the suite draws from, and what a search may look through beyond it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from robust_kbench.cases import layouts
from robust_kbench.schema import arithmetic
from robust_kbench.schema.task import ITEMSIZE, Distribution, FloatDType, Layout, Task, shape_of

_LEAST, _MOST = 2, 1000
"""Where the smallest case is beyond the budget: how many times its cost, and of the budget, a case may cost."""


@dataclass(frozen=True)
class Budget:
    """Limits of what one checked case costs, and the number of cases."""

    cases: int
    """Drawn cases. Those below come on top of them, and so do the task's pinned cases."""
    elements: int
    """In all inputs and outputs of a case together."""
    flops: float
    timed_bindings: int | None
    """How many of the task's timed bindings are measured, those that move least first; None means all."""
    probes: int = 1
    """How often each declared probe is run, at different sizes."""
    nonfinite: int = 1
    """Cases with NaN and infinities among the inputs."""
    every_dtype: bool = True
    """Whether probes and non-finite cases are run for each dtype, or each of them for one dtype in turn."""
    conjunctions: int | None = 1
    """How many pairs of axes are equal once, and how many axes round; None means all, long pairs and large cases."""


@dataclass(frozen=True)
class Space:
    """The cases of `task` that `budget` allows, for a submission that declares `dtypes`.

    `dense`: the calling convention passes dense tensors only, so that strided layouts do not apply.
    """

    task: Task
    budget: Budget
    dtypes: tuple[FloatDType, ...]
    dense: bool

    @property
    def layouts(self) -> tuple[Layout, ...]:
        """Every layout that at least one input can take; contiguous first."""
        return tuple(layouts.applicable(self.task, dense=self.dense))

    @property
    def distributions(self) -> tuple[Distribution, ...]:
        """Every distribution that the task is well-conditioned for."""
        return self.task.distributions

    def sizes(self, axis: str) -> range | tuple[int, ...]:
        """Every size of `axis` that is not empty, in order; whether sizes go together, `admits` tells."""
        sizes = self.task.axes[axis].sizes()
        if isinstance(sizes, tuple):
            return tuple(sorted(size for size in sizes if size > 0))
        return sizes[1:] if sizes[0] == 0 else sizes

    def admits(self, axes: Mapping[str, int], dtype: str) -> bool:
        """Tell if `axes` is a case of the task without empty tensors that costs no more than the budget allows."""
        return self.task.misfit(axes) is None and not self._is_empty(axes) and self.affords(axes, dtype)

    def affords(self, axes: Mapping[str, int], dtype: str) -> bool:
        """Tell if the tensors and the work of a case are within the budget; its tensors may be empty.

        A task whose smallest cases are beyond it, such as a whole network, has those, unless it is a thousand times.
        """
        elements, flops = self._price(axes, dtype)
        least_elements, least_flops = self._least
        return elements <= _raised(self.budget.elements, least_elements) and flops <= _raised(
            self.budget.flops, least_flops
        )

    def share(self, axes: Mapping[str, int], dtype: str) -> float:
        """Share of the budget that a case takes: of its elements or of its work, whichever is more."""
        elements, flops = self._price(axes, dtype)
        return max(elements / self.budget.elements, flops / self.budget.flops)

    @cached_property
    def _least(self) -> tuple[int, int]:
        """Cost of the case in which every axis is as small as it can be; nothing, where there is no such case."""
        axes = {name: next(iter(self.sizes(name)), 0) for name in self.task.axes}
        return self._price(axes, self.dtypes[0]) if self.task.misfit(axes) is None else (0, 0)

    def _price(self, axes: Mapping[str, int], dtype: str) -> tuple[int, int]:
        elements = sum(math.prod(shape_of(tensor, axes)) for tensor in self.task.tensors.values())
        return elements, arithmetic.evaluate(self.task.cost.flops, {**axes, "itemsize": ITEMSIZE[dtype]})

    def _is_empty(self, axes: Mapping[str, int]) -> bool:
        return any(size < 1 for tensor in self.task.tensors.values() for size in shape_of(tensor, axes))


def _raised(budget: float, least: int) -> float:
    """A budget that the cheapest case does not keep is one for that case and its neighbours."""
    return budget if not budget < least <= _MOST * budget else _LEAST * least
