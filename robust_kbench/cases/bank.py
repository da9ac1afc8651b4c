"""Fresh inputs for timed calls at the price of an addition: every call pairs two long streams in a way of its own.

Drawing 64 MiB of normal numbers takes half a second, a hundred times as long as the kernel that is being timed. So two
streams are drawn in advance, and a call gets what becomes of a window of one and a window of the other, element by
element: the sum of two normal numbers is normal. No two calls lay the windows side by side in the same way. Windows of
a single stream would have most of their values in common, moved by some places, and a kernel that finds out by how many
could keep what it has computed for each of them.

Normal numbers get their signs from a window of a third stream. Without it the sum of a thousand of them would be a
difference of two running sums, for whoever has learned the streams from earlier calls.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import torch

from robust_kbench.cases.distributions import Form, lognormal, make_uneven, plant_needles
from robust_kbench.cases.values import Inputs, arranged, bound_of, distribution_of, make_inputs, scaled
from robust_kbench.schema.case import Case
from robust_kbench.schema.task import Distribution, Task, shape_of

_MIN_SPARE_ELEMENTS = 4096
_SPARE_SHARE = 0.25
_HALF = 0.5**0.5  # two normal numbers of this deviation add up to one of deviation 1
_FILLING = 2.0**-20
_LARGEST_FRACTION = (1 << 24) - 1


class Bank:
    """Streams of values for one timed binding, private to the judge."""

    def __init__(self, task: Task, case: Case, place: str = "cpu") -> None:
        """`place`: the kind of device on which streams are kept and mixed."""
        self._task, self._case, self._place = task, case, place
        self._random = random.SystemRandom()
        self._generator = torch.Generator(place).manual_seed(self._random.getrandbits(62))
        self._finisher = torch.Generator().manual_seed(self._random.getrandbits(62))
        self._streams: dict[tuple[str, str], _Streams] = {}

    def draw(self, case: Case) -> Inputs:
        """Inputs for one call with the distribution of `case`; its seed decides about scalars alone."""
        scalars = {name for name, spec in self._task.inputs.items() if spec.role == "scalar"}
        drawn = make_inputs(self._task, case, only=scalars).values
        return Inputs({name: drawn[name] if name in scalars else self._mixed(case, name) for name in self._task.inputs})

    def _mixed(self, case: Case, name: str) -> torch.Tensor:
        spec = self._task.inputs[name]
        shape = shape_of(spec, case.axes)
        dtype = getattr(torch, self._task.dtype_of(spec, case.dtype))
        if spec.role in ("index", "mask"):
            drawn = self._take(name, "below", _numbers_below(bound_of(case, spec)), shape)
            return arranged(drawn, spec, case).to(dtype)
        law = distribution_of(case, name, spec)
        mixed = self._take(name, _BASES.get(law, law), _MIXES[_BASES.get(law, law)], shape)
        if law in _FINISHES:
            mixed = _FINISHES[law](mixed, self._finisher, dtype)
        return scaled(mixed, spec, case).to(dtype)

    def _take(self, name: str, kind: str, mix: _Mix, shape: tuple[int, ...]) -> torch.Tensor:
        """Values for the input `name` from its streams of this kind, which are drawn anew when they are used up."""
        count = math.prod(shape)
        streams = self._streams.get((kind, name))
        if streams is None or streams.is_used_up:
            spare = max(_MIN_SPARE_ELEMENTS, int(_SPARE_SHARE * count))
            streams = self._streams[kind, name] = _Streams(mix, count + spare, spare, self._generator)
        return streams.take(count, self._random).view(shape)


@dataclass(frozen=True)
class _Mix:
    """Law of a stream: a function that draws its values, and one that mixes two of them."""

    draw: Callable[[tuple[int, ...], torch.Generator], torch.Tensor]
    mix: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
    is_filled: bool = False
    """Whether small results end in zeros: both values have been rounded before. No other normal number looks so.

    A millionth of the first window, backwards, fills these places.
    """


def _sum_of_fractions(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Add numbers with 24 bits behind the point, as those of torch.rand have, and keep what is behind it."""
    return torch.add(one, other).bitwise_and_(_LARGEST_FRACTION).float().mul_(1 / (_LARGEST_FRACTION + 1))


_MIXES: Mapping[Distribution, _Mix] = {
    "normal": _Mix(
        lambda shape, source: torch.randn(shape, generator=source, device=source.device).mul_(_HALF),
        torch.add,
        is_filled=True,
    ),
    "uniform": _Mix(
        lambda shape, source: torch.randint(
            0, _LARGEST_FRACTION + 1, shape, generator=source, dtype=torch.int32, device=source.device
        ),
        _sum_of_fractions,
    ),
    "lognormal": _Mix(lambda shape, source: lognormal(shape, source, exponent=_HALF), torch.mul),
}


# Of uneven values. No average over some of the columns survives levels, and nobody sees by its own values that it is
# shades of which he looks at some: those that are told from usual ones can be answered in full, and only those.
_FORMS: tuple[Form, ...] = ("rows", "columns", *2 * ("levels",), *6 * ("shades",))
# What is made of the values of another law when they have been mixed.
_BASES: Mapping[Distribution, Distribution] = {"needles": "normal", "uneven": "normal"}
_FINISHES: Mapping[Distribution, Callable[[torch.Tensor, torch.Generator, torch.dtype], torch.Tensor]] = {
    "needles": plant_needles,
    "uneven": partial(make_uneven, forms=_FORMS),
}


def _numbers_below(bound: int) -> _Mix:
    return _Mix(
        lambda shape, source: torch.randint(0, bound, shape, generator=source, device=source.device),
        lambda one, other: torch.add(one, other).remainder_(bound),
    )


class _Streams:
    """Two streams, and by how much the windows that were taken of them lay apart: never twice by the same.

    Otherwise two calls would have most of their values in common.
    """

    def __init__(self, mix: _Mix, size: int, spare: int, source: torch.Generator) -> None:
        self._mix, self._spare = mix, spare
        self._one, self._other = mix.draw((size,), source), mix.draw((size,), source)
        self._filler = self._one.flip(0).mul_(_FILLING) if mix.is_filled else None
        self._signs = (
            torch.randint(0, 2, (size,), generator=source, dtype=torch.int8, device=source.device).mul_(2).sub_(1)
            if mix.is_filled
            else None
        )
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
                mixed = self._mix.mix(self._one[one : one + count], self._other[other : other + count])
                if self._filler is None or self._signs is None:
                    return mixed
                start = source.randrange(self._spare)
                return mixed.add_(self._filler[-one - count :][:count]).mul_(self._signs[start : start + count])
