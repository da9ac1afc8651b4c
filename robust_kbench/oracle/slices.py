"""Slices of a case along the task's independent axis: outputs there depend on the same slices of the inputs alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

import torch

from robust_kbench.cases.values import Inputs
from robust_kbench.errors import SpecError
from robust_kbench.oracle.judgement import Judgement, Standard
from robust_kbench.schema import arithmetic
from robust_kbench.schema.task import Task

Tensors = Mapping[str, torch.Tensor]


class OfSlices:
    """Standard for the slices `chosen` along dimension `dim`, which asks nothing of the rest."""

    def __init__(self, standard: Standard, dim: int, chosen: torch.Tensor) -> None:
        self._standard, self._dim, self._chosen = standard, dim, chosen

    def judge(self, answer: torch.Tensor) -> Judgement:
        """Judge these slices alone by their standard."""
        return self._standard.judge(answer.index_select(self._dim, self._chosen))

    def is_wrong(self, answer: torch.Tensor) -> torch.Tensor:
        """Mark wrong elements of these slices only."""
        wrong = torch.zeros(answer.shape, dtype=torch.bool)
        part = self._standard.is_wrong(answer.index_select(self._dim, self._chosen))
        return wrong.index_copy_(self._dim, self._chosen, part)


class InChunks:
    """Standard that holds chunks of `width` slices along `dim` to standards of their own.

    These are made when they are due, and then forgotten. `make` takes the first slice and the number of slices.
    """

    def __init__(self, make: Callable[[int, int], Standard], dim: int, size: int, width: int) -> None:
        self._make, self._dim, self._size, self._width = make, dim, size, width

    def judge(self, answer: torch.Tensor) -> Judgement:
        """Return the judgement of the worst chunk."""
        found = (standard.judge(part) for standard, part in self._parts(answer))
        return max(found, key=severity)

    def is_wrong(self, answer: torch.Tensor) -> torch.Tensor:
        """Mark the elements that are wrong by the standards of the chunks."""
        return torch.cat([standard.is_wrong(part) for standard, part in self._parts(answer)], self._dim)

    def _parts(self, answer: torch.Tensor) -> Iterator[tuple[Standard, torch.Tensor]]:
        for start in range(0, self._size, self._width):
            count = min(self._width, self._size - start)
            yield self._make(start, count), answer.narrow(self._dim, start, count)


def severity(judgement: Judgement) -> tuple[bool, float]:
    """Return a key by which the worst of several judgements is found."""
    ratio = judgement.ratio
    return not judgement.is_accepted, math.inf if math.isnan(ratio) else ratio


def inputs_at(task: Task, inputs: Inputs, take: Callable[[torch.Tensor, int], torch.Tensor]) -> Inputs:
    """Apply `take` to every tensor of `inputs` that has the independent axis, which is the given dimension.

    Raises SpecError where a size or an index mixes that axis with others, so that it is not independent.
    """
    axis, values = task.independent or "", dict(inputs.values)
    for name, tensor in inputs.tensors.items():
        spec = task.inputs[name]
        if axis in arithmetic.names(spec.below or 0):
            raise SpecError(f"{task.name}: independent: {axis}: {name} points along it")
        if any(axis in arithmetic.names(size) for size in spec.shape):
            values[name] = take(tensor, _dimension(task, name, spec.shape))
    return Inputs(values)


def output_dimension(task: Task, name: str) -> int:
    """Return the dimension of output `name` that is the independent axis. Raises SpecError where it has none."""
    return _dimension(task, name, task.outputs[name].shape)


def in_chunks(
    task: Task, inputs: Inputs, size: int, width: int, run: Callable[[Inputs], Tensors]
) -> dict[str, torch.Tensor]:
    """Compute the outputs of `run` for all inputs, `width` slices of the independent axis at a time."""
    parts = [run(chunk) for chunk in _chunks(task, inputs, size, width)]
    return {name: torch.cat([part[name] for part in parts], output_dimension(task, name)) for name in task.outputs}


def _chunks(task: Task, inputs: Inputs, size: int, width: int) -> Iterator[Inputs]:
    for start in range(0, size, width):
        count = min(width, size - start)
        yield inputs_at(task, inputs, lambda tensor, dim, at=start, n=count: tensor.narrow(dim, at, n))  # type: ignore[misc]


def _dimension(task: Task, name: str, shape: Sequence[str | int]) -> int:
    axis = task.independent or ""
    having = [dim for dim, size in enumerate(shape) if axis in arithmetic.names(size)]
    if len(having) != 1 or shape[having[0]] != axis:
        raise SpecError(f"{task.name}: independent: {axis}: {name} must have that axis once, and by itself")
    return having[0]
