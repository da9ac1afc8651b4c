"""Fresh inputs for timed calls at the price of an addition: every call pairs two long streams in a way of its own.

Drawing 64 MiB of normal numbers takes half a second, a hundred times as long as the kernel that is being timed. So two
streams are drawn in advance, and a call gets what becomes of a window of one and a window of the other, element by
element: the sum of two normal numbers is normal. No two calls lay the windows side by side in the same way. Windows of
a single stream would have most of their values in common, moved by some places, and a kernel that finds out by how many
could keep what it has computed for each of them.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch

from robust_kbench.cases.distributions import lognormal
from robust_kbench.cases.values import Inputs, bound_of, distribution_of, make_inputs, scaled
from robust_kbench.schema.case import Case
from robust_kbench.schema.task import Distribution, Input, Task, shape_of

_MIN_SPARE_ELEMENTS = 4096
_SPARE_SHARE = 0.25
_HALF = 0.5**0.5  # two normal numbers of this deviation add up to one of deviation 1


class Bank:
    """Streams of values for one timed binding, private to the judge."""

    def __init__(self, task: Task, case: Case) -> None:
        self._task, self._case = task, case
        self._random = random.SystemRandom()
        self._generator = torch.Generator().manual_seed(self._random.getrandbits(62))
        self._streams: dict[tuple[Distribution, str], _Streams] = {}

    def draw(self, case: Case) -> Inputs:
        """Inputs for one call with the distribution of `case`; its seed decides about scalars alone."""
        scalars = {name for name, spec in self._task.inputs.items() if spec.role == "scalar"}
        drawn = make_inputs(self._task, case, only=scalars).values
        return Inputs({name: drawn[name] if name in scalars else self._mixed(case, name) for name in self._task.inputs})

    def _mixed(self, case: Case, name: str) -> torch.Tensor:
        spec = self._task.inputs[name]
        shape = shape_of(spec, case.axes)
        count = math.prod(shape)
        streams = self._streams.get((case.distribution, name))
        if streams is None or streams.is_used_up:
            spare = max(_MIN_SPARE_ELEMENTS, int(_SPARE_SHARE * count))
            streams = _Streams(self._mix(case, name, spec), count + spare, spare, self._generator)
            self._streams[case.distribution, name] = streams
        mixed = streams.take(count, self._random).view(shape)
        dtype = getattr(torch, self._task.dtype_of(spec, case.dtype))
        return mixed.to(dtype) if spec.role in ("index", "mask") else scaled(mixed, spec, case).to(dtype)

    def _mix(self, case: Case, name: str, spec: Input) -> _Mix:
        if spec.role in ("index", "mask"):
            return _numbers_below(bound_of(case, spec))
        return _MIXES[distribution_of(case, name, spec)]


@dataclass(frozen=True)
class _Mix:
    """How the values of a stream are drawn, and what becomes of two of them."""

    draw: Callable[[tuple[int, ...], torch.Generator], torch.Tensor]
    mix: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


_MIXES: Mapping[Distribution, _Mix] = {
    "normal": _Mix(lambda shape, source: torch.randn(shape, generator=source).mul_(_HALF), torch.add),
    "uniform": _Mix(
        lambda shape, source: torch.rand(shape, generator=source), lambda one, other: torch.add(one, other).frac_()
    ),
    "lognormal": _Mix(lambda shape, source: lognormal(shape, source, exponent=_HALF), torch.mul),
}


def _numbers_below(bound: int) -> _Mix:
    return _Mix(
        lambda shape, source: torch.randint(0, bound, shape, generator=source),
        lambda one, other: torch.add(one, other).remainder_(bound),
    )


class _Streams:
    """Two streams, and by how much the windows that were taken of them lay apart: never twice by the same.

    Otherwise two calls would have most of their values in common.
    """

    def __init__(self, mix: _Mix, size: int, spare: int, source: torch.Generator) -> None:
        self._mix, self._spare = mix, spare
        self._one, self._other = mix.draw((size,), source), mix.draw((size,), source)
        self._taken: set[int] = set()

    @property
    def is_used_up(self) -> bool:
        """A quarter of all distances: from there on it would take long to find another one."""
        return 2 * len(self._taken) >= self._spare

    def take(self, count: int, source: random.Random) -> torch.Tensor:
        """`count` values for a call."""
        while True:
            one, other = source.randrange(self._spare), source.randrange(self._spare)
            if one - other not in self._taken:
                self._taken.add(one - other)
                return self._mix.mix(self._one[one : one + count], self._other[other : other + count])
