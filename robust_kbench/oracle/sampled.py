"""Standards for answers where the float64 reference would take too long or too much memory.

Slices along the task's independent axis are cases of their own. Where only memory is short, all of them are held to the
ordinary standards, some at a time; so are ops that are judged in ulps. Where the work is too much, an answer must meet
three standards:

* 64 secret slices against float64, as strictly as any other case: these tell a wrong algorithm, and a term that is
  missing everywhere;
* all of it against a neighbour, the reference in float32 (halves are widened, which is faster than PyTorch's half
  precision on a CPU), with twice the limits of the slices, because the worst of all is worse than the worst of 64:
  this tells a wrong tile or element;
* where the op is linear along an axis, random combinations of all slices against float64 (Freivalds): these hold the
  whole to float64, so that the neighbour need not be trusted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import torch

from robust_kbench.cases.draw import Draw
from robust_kbench.cases.suite import BUDGETS, draw_suite
from robust_kbench.cases.values import Inputs, make_inputs
from robust_kbench.oracle import freivalds, slices
from robust_kbench.oracle.exact import Exact
from robust_kbench.oracle.freivalds import Freivalds
from robust_kbench.oracle.judgement import Judgement, Standard
from robust_kbench.oracle.neighbour import Neighbour
from robust_kbench.oracle.reference import Reference, Tensors
from robust_kbench.oracle.slices import InChunks, OfSlices, severity
from robust_kbench.oracle.standards import rule, standard_for
from robust_kbench.oracle.surroundings import surround
from robust_kbench.oracle.three_metrics import ThreeMetrics, Triple
from robust_kbench.schema import arithmetic
from robust_kbench.schema.case import Case
from robust_kbench.schema.task import ITEMSIZE, Task, shape_of

SLICES = 64
COSTLY_FLOPS = 2e11
COSTLY_BYTES = 4 << 30
"""Most bytes of all inputs and outputs in float64 before a case is costly; intermediate values come on top."""

_CHUNK_BYTES = 1 << 28
_OF_ALL = 2.0
_HALVES = (torch.float16, torch.bfloat16)
_EXACT_PROBES = ("integers", "stall")


Combination = tuple[Tensors, torch.Tensor, int]
"""Expected outputs, the signs that combine slices, and the dimension of the slices."""


@dataclass(frozen=True)
class Sampled:
    """Costly case: nearly right outputs in their dtypes, and the standards of the right ones."""

    near: Mapping[str, torch.Tensor]
    standards: Mapping[str, Standard]


class Together:
    """Combination of several standards, each of which must be met."""

    def __init__(self, parts: Sequence[Standard]) -> None:
        self.parts = tuple(parts)

    def judge(self, answer: torch.Tensor) -> Judgement:
        """Return the judgement that comes closest to refusing, or goes furthest beyond."""
        return max((part.judge(answer) for part in self.parts), key=severity)

    def is_wrong(self, answer: torch.Tensor) -> torch.Tensor:
        """Return the wrong elements of the first part that finds any."""
        found = (part.is_wrong(answer) for part in self.parts)
        return next((wrong for wrong in found if bool(wrong.any())), torch.zeros(answer.shape, dtype=torch.bool))


def is_costly(task: Task, case: Case) -> bool:
    """Tell if the float64 reference of `case` takes longer, or more memory, than it is worth."""
    return flops(task, case) > COSTLY_FLOPS or _bytes(task, case) > COSTLY_BYTES


def sample(task: Task, reference: Reference, case: Case, inputs: Inputs, draw: Draw) -> Sampled | None:
    """Make the standards of every output of `case` without a float64 reference of the whole.

    Return None where no axis is independent, or an output is judged by its distribution. `draw` chooses the slices and
    the combinations. The submission must not know it when it answers.
    """
    if task.independent is None or any(task.comparison_of(spec) == "random" for spec in task.outputs.values()):
        return None
    if flops(task, case) <= COSTLY_FLOPS or _counts_ulps(task):  # such an op is elementwise: its work is small
        return _in_chunks(task, reference, case, inputs)
    near = slices.in_chunks(task, inputs, *_chunks(task, case), lambda chunk: reference.native(_widened(chunk)))
    part = _Part(task, reference, case, inputs, _choose(task, case, draw))
    combined = _combined(task, reference, case, inputs, near, draw)
    standards = {}
    for name in task.outputs:
        dtype = _dtype(task, name, case)
        parts = part.standards(name, near[name], dtype)
        parts += [
            Freivalds(expected[name], signs, dim, near[name], part.limits(name), part.is_exact(name, near[name], dtype))
            for expected, signs, dim in combined[name]
        ]
        standards[name] = Together(parts)
    return Sampled({name: tensor.to(_dtype(task, name, case)) for name, tensor in near.items()}, standards)


class _Part:
    """Chosen slices of a case with their references, and the standards of the whole that follow from them."""

    def __init__(self, task: Task, reference: Reference, case: Case, inputs: Inputs, chosen: torch.Tensor) -> None:
        axes = {**case.axes, task.independent or "": len(chosen)}
        self._task, self._case, self._chosen, self._whole = task, case.model_copy(update={"axes": axes}), chosen, inputs
        self._inputs = slices.inputs_at(task, inputs, lambda tensor, dim: tensor.index_select(dim, chosen))
        self._exact, self._native = reference.exact(self._inputs), reference.native(self._inputs)
        self._around = surround(task, case, reference, self._inputs, self._exact, self._native)

    def standards(self, name: str, near: torch.Tensor, dtype: torch.dtype) -> list[Standard]:
        """Make the standards of the whole against `near`, and of the slices against float64."""
        if self._task.comparison_of(self._task.outputs[name]) != "rule":
            exactly = {name: near.to(dtype)}
            return [standard_for(self._task, name, self._case, self._whole, exactly, exactly)]
        own = self.standard(name)
        dim = slices.output_dimension(self._task, name)
        taken = near.index_select(dim, self._chosen)
        return [self._of_whole(name, near, taken, own, dtype), OfSlices(own, dim, self._chosen)]

    def standard(self, name: str) -> Standard:
        """Make the standard of the slices alone."""
        return standard_for(self._task, name, self._case, self._inputs, self._exact, self._native, self._around)

    def is_exact(self, name: str, near: torch.Tensor, dtype: torch.dtype) -> bool:
        """Tell if no error is due anywhere: integers that the contract adds exactly, and `dtype` holds."""
        is_due = self._case.probe in _EXACT_PROBES and isinstance(self.standard(name), Exact)
        return is_due and bool((near.to(dtype) == near).all())

    def limits(self, name: str) -> Triple:
        """Return the limits of the rule on the slices."""
        return self._rule(name).limits

    def _of_whole(
        self, name: str, near: torch.Tensor, taken: torch.Tensor, own: Standard, dtype: torch.dtype
    ) -> Standard:
        if isinstance(own, Exact) and own.judge(taken.to(dtype)).is_accepted:
            return Exact(near.to(dtype))
        held = self._rule(name)
        own_errors = held.judge(taken).errors
        first, second, third = (_OF_ALL * (limit + error) for limit, error in zip(held.limits, own_errors, strict=True))
        return Neighbour(near, (first, second, third), dtype)

    def _rule(self, name: str) -> ThreeMetrics:
        return rule(self._task, name, self._case, self._inputs, self._exact, self._native, self._around)


def _combined(
    task: Task, reference: Reference, case: Case, inputs: Inputs, near: Tensors, draw: Draw
) -> dict[str, list[Combination]]:
    """Make random combinations along each axis that is worth it, per output: values in float64, signs and dimension."""
    found: dict[str, list[Combination]] = {name: [] for name in task.outputs}
    for axis in _linear_axes(task, reference, case, near):
        signs = freivalds.random_signs(case.axes[axis], draw)
        expected = freivalds.projections(task, reference, inputs, axis, signs)
        for name, spec in task.outputs.items():
            found[name].append((expected, signs, spec.shape.index(axis)))
    return found


def _linear_axes(task: Task, reference: Reference, case: Case, near: Tensors) -> list[str]:
    """Find linear axes that are worth combining, if everything is finite and the inputs fit in float64.

    They have more than twice as many slices as are combined.
    """
    is_plain = all(task.comparison_of(spec) == "rule" for spec in task.outputs.values())
    if not is_plain or _bytes(task, case) > COSTLY_BYTES or not all(map(_is_finite, near.values())):
        return []
    suite = draw_suite(task, 0, budget=BUDGETS["quick"], dtypes=[case.dtype], device="cpu", dense=False)
    plain = [small for small in suite.checked if small.probe is None and min(small.axes.values()) > 1]
    if not plain:
        return []
    small = min(plain, key=lambda candidate: _bytes(task, candidate))
    found = freivalds.linear_axes(task, reference, make_inputs(task, small))
    return [axis for axis in found if case.axes[axis] > 2 * freivalds.COLUMNS]


def _in_chunks(task: Task, reference: Reference, case: Case, inputs: Inputs) -> Sampled:
    """Make the ordinary standards of one chunk after the other; float64 of a chunk lives while it is judged."""
    size, width = _chunks(task, case)

    def standard(name: str, start: int, count: int) -> Standard:
        chosen = torch.arange(start, start + count)
        return _Part(task, reference, case, inputs, chosen).standard(name)

    near = slices.in_chunks(task, inputs, size, width, reference.native)
    return Sampled(
        near,
        {
            name: InChunks(partial(standard, name), slices.output_dimension(task, name), size, width)
            for name in task.outputs
        },
    )


def _chunks(task: Task, case: Case) -> tuple[int, int]:
    """Return the size of the independent axis, and how many slices make about `_CHUNK_BYTES`."""
    size = case.axes[task.independent or ""]
    return size, max(1, int(size * _CHUNK_BYTES / max(1, _bytes(task, case))))


def _choose(task: Task, case: Case, draw: Draw) -> torch.Tensor:
    """Draw sorted numbers of different slices, as many as the threshold allows."""
    size = case.axes[task.independent or ""]
    share = min(COSTLY_FLOPS / max(1.0, flops(task, case)), COSTLY_BYTES / max(1, _bytes(task, case)))
    count = max(1, min(SLICES, size, int(size * share)))
    found: set[int] = set()
    while len(found) < min(count, size):
        found.add(draw.below(size))
    return torch.tensor(sorted(found), dtype=torch.int64)


def _widened(inputs: Inputs) -> Inputs:
    """Convert half precision to float32, and keep everything else as it is."""
    wide = {name: tensor.float() for name, tensor in inputs.tensors.items() if tensor.dtype in _HALVES}
    return Inputs({**inputs.values, **wide})


def _counts_ulps(task: Task) -> bool:
    return "ulp" in map(task.comparison_of, task.outputs.values())


def _is_finite(tensor: torch.Tensor) -> bool:
    return bool(tensor.sum(dtype=torch.float64).isfinite())


def _dtype(task: Task, name: str, case: Case) -> torch.dtype:
    dtype: torch.dtype = getattr(torch, task.dtype_of(task.outputs[name], case.dtype))
    return dtype


def flops(task: Task, case: Case) -> float:
    """Count the operations that the op is charged for."""
    return float(arithmetic.evaluate(task.cost.flops, {**case.axes, "itemsize": ITEMSIZE[case.dtype]}))


def _bytes(task: Task, case: Case) -> int:
    return 8 * sum(math.prod(shape_of(tensor, case.axes)) for tensor in task.tensors.values())
