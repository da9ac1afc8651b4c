"""Measurement of a problem at one binding of its constants: shapes, bounds, work. Runs in the sandbox alone."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from robust_kbench.importers.lengths import Work
from robust_kbench.importers.problem import Argument, Problem, Trace

_MOST_ELEMENTS = 1 << 23
"""Most elements of a call on the processor, for problems that fail on the meta device, where nothing is computed."""

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Measure:
    """Shapes by the names of arguments and parameters; None for an argument that is no tensor."""

    arguments: Mapping[str, Shape | None]
    parameters: Mapping[str, Shape]
    numbers: Mapping[str, int]
    """Bounds of integer tensors, and integer arguments."""
    outputs: tuple[Shape, ...] = ()
    output_dtypes: tuple[str, ...] = ()
    draws: tuple[Shape, ...] = ()
    lengths: tuple[int, ...] = ()
    flops: int = 0

    @property
    def inputs(self) -> dict[str, Shape]:
        """Shapes of all tensors that a kernel is given, except random numbers."""
        return {**{name: shape for name, shape in self.arguments.items() if shape is not None}, **self.parameters}

    @property
    def elements(self) -> int:
        """Number of elements of all inputs and outputs."""
        return sum(map(math.prod, (*self.inputs.values(), *self.outputs)))

    def is_like(self, other: Measure) -> bool:
        """Tell if both measures have the same tensors of the same ranks."""
        mine, others = self.inputs, other.inputs
        return (
            list(mine) == list(others)
            and all(len(mine[name]) == len(others[name]) for name in mine)
            and list(map(len, self.outputs)) == list(map(len, other.outputs))
            and list(map(len, self.draws)) == list(map(len, other.draws))
        )


class Bench:
    """Bench that measures a problem; on the meta device, unless it cannot be called there."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self.device = "meta"
        self.error = ""
        self.seconds = 0.0
        """Duration of the last call that worked."""
        self._known: dict[tuple[str, tuple[tuple[str, int], ...]], Measure | None] = {}

    def shapes(self, values: Mapping[str, int]) -> Measure | None:
        """Return the shapes without a call; None where the problem cannot be built."""
        try:
            return _described(self._problem.trace({**self._problem.values, **values}, "meta"))
        except Exception as error:
            self.error = f"{type(error).__name__}: {error}"
            return None

    def measure(self, values: Mapping[str, int]) -> Measure | None:
        """Measure the problem with a call; None where it fails."""
        key = self.device, tuple(sorted(values.items()))
        if key not in self._known:
            self._known[key] = self._measured(values)
        return self._known[key]

    def _measured(self, values: Mapping[str, int]) -> Measure | None:
        if self.device == "cpu":
            shapes = self.shapes(values)
            if shapes is None or shapes.elements > _MOST_ELEMENTS:
                return None
        started = time.monotonic()
        try:
            trace = self._problem.trace({**self._problem.values, **values}, self.device)
            with torch.device(self.device):  # for what a model makes while it runs
                found = _called(trace)
            self.seconds = time.monotonic() - started
            return found
        except Exception as error:
            self.error = f"{type(error).__name__}: {error}"
            return None

    def real(self, values: Mapping[str, int]) -> Trace:
        """Build the problem with values, on the processor."""
        torch.manual_seed(0)
        return self._problem.trace({**self._problem.values, **values}, "cpu")


def _called(trace: Trace) -> Measure:
    with Work() as work:
        outputs = trace.run()
    if not outputs:
        raise TypeError("it returns no tensor")
    known = _described(trace)
    return Measure(
        known.arguments,
        known.parameters,
        known.numbers,
        tuple(tuple(tensor.shape) for tensor in outputs),
        tuple(str(tensor.dtype).removeprefix("torch.") for tensor in outputs),
        tuple(tuple(tensor.shape) for tensor in trace.draws),
        tuple(work.lengths),
        work.flops,
    )


def _described(trace: Trace) -> Measure:
    numbers = {argument.name: number for argument in trace.arguments if (number := _number(argument)) is not None}
    return Measure(
        {
            argument.name: tuple(argument.value.shape) if isinstance(argument.value, Tensor) else None
            for argument in trace.arguments
        },
        {name: tuple(tensor.shape) for name, tensor in trace.parameters.items()},
        numbers,
    )


def _number(argument: Argument) -> int | None:
    return argument.value if type(argument.value) is int else argument.bound
