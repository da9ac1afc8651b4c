"""Suite of a task and a seed: sizes on both sides of every power of two, primes, ones, every dtype and layout.

Drawn cases come first, so that their numbers do not change when a task is given another probe or a pinned case.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import cycle

from robust_kbench.cases import conjunctions, layouts, probes, sizes
from robust_kbench.cases.draw import Draw
from robust_kbench.cases.space import Budget, Space
from robust_kbench.schema import arithmetic
from robust_kbench.schema.case import Case, Suite
from robust_kbench.schema.record import Tier
from robust_kbench.schema.task import ITEMSIZE, DeviceKind, Distribution, FloatDType, Layout, Probe, Task

__all__ = ["BUDGETS", "INTERPRETED", "Budget", "draw_suite"]

BUDGETS: dict[Tier, Budget] = {
    "quick": Budget(cases=24, elements=1 << 19, flops=2e8, timed_bindings=1),
    "full": Budget(
        cases=72, elements=1 << 21, flops=2e9, timed_bindings=None, probes=3, nonfinite=4, conjunctions=None
    ),
    "final": Budget(
        cases=96, elements=1 << 22, flops=4e9, timed_bindings=None, probes=3, nonfinite=4, conjunctions=None
    ),
}
"""Budgets of the tiers. On top come a case of size 1 and an empty one for each axis that admits it, rare sizes, and
every pinned case."""
_INTERPRETED = Budget(cases=24, elements=1 << 16, flops=2e7, timed_bindings=0, every_dtype=False)
INTERPRETED: dict[Tier, Budget] = {
    "quick": replace(_INTERPRETED, elements=1 << 15, flops=1e7),
    "full": _INTERPRETED,
    "final": _INTERPRETED,
}
"""Budgets for Triton's interpreter, which takes about half a millisecond per program instance."""

_ALIKE, _LEAST_ALIKE = 6, 2
"""Cases of the probe alike in all dtypes together, and least in each. One in three shows that slices are left out."""
_OF_96 = 3
"""Axes with a large multiple of 96 for each axis with another round size. Most tasks have no more long axes."""

# An expanded identity is none, and a NaN in an expanded slice is everywhere.
_PROBE_LAYOUTS: tuple[Layout, ...] = ("contiguous", "offset", "transposed", "strided", "pitched", "channels_last")


def draw_suite(
    task: Task,
    seed: int,
    *,
    budget: Budget,
    dtypes: Sequence[FloatDType],
    device: DeviceKind,
    dense: bool,
    pinned: Sequence[Case] = (),
) -> Suite:
    """Draw the cases of `seed`, and add the ones of `pinned` that the budget and `dtypes` admit.

    `dense`: the abi passes dense tensors only, so that strided layouts do not apply.
    """
    space = Space(task, budget, tuple(dtypes), dense)
    draw = Draw(seed, f"suite {task.name} {task.version}")
    checked = list(_drawn(space, draw))
    bindings = sorted(task.timed[device], key=lambda axes: _bytes(task, axes))[: budget.timed_bindings]
    timed = [
        Case(axes=binding, dtype=dtype, seed=draw.bits(), role="timed") for dtype in dtypes for binding in bindings
    ]
    checked += _probing(space, Draw(seed, f"probes {task.name} {task.version}"))
    checked += _edges(space, Draw(seed, f"edges {task.name} {task.version}"))
    checked += _conjunctions(space, Draw(seed, f"conjunctions {task.name} {task.version}"))
    checked += _pinned(space, pinned)
    return Suite(seed=seed, checked=tuple(checked), timed=tuple(timed))


def _drawn(space: Space, draw: Draw) -> Iterator[Case]:
    """Draw cases of every dtype in every layout, and in each of them one distribution after the other."""
    combinations = draw.shuffled([(dtype, layout) for dtype in space.dtypes for layout in space.layouts])
    distributions = draw.shuffled(space.distributions)
    count = max(space.budget.cases, len(combinations))
    first, step = _first_distributions(space, combinations, turns=count // len(combinations))
    for number in range(count):
        turn, place = divmod(number, len(combinations))
        dtype, layout = combinations[place]
        distribution = distributions[(first[place] + turn * step) % len(distributions)]
        axes = sizes.draw_axes(space, draw, dtype)
        yield _case(axes, dtype, layout, distribution, draw.bits())


def _first_distributions(
    space: Space, combinations: Sequence[tuple[FloatDType, Layout]], turns: int
) -> tuple[list[int], int]:
    """Choose the first distribution of each combination, and the step to the next one in every turn.

    The layouts of a dtype begin with successive distributions. They move on by the step that leads the dtype through
    most of them in so many turns. A step without a common divisor leads every single layout through all of them, too.
    """
    count = len(space.distributions)

    def met(step: int) -> int:
        return len({(rank + turn * step) % count for rank in range(len(space.layouts)) for turn in range(turns)})

    step = max((step for step in range(1, count + 1) if math.gcd(step, count) == 1), key=met)
    apart = -(-count // len(space.dtypes))
    rank = dict.fromkeys(space.dtypes, 0)
    first = []
    for dtype, _ in combinations:
        first.append(space.dtypes.index(dtype) * apart + rank[dtype])
        rank[dtype] += 1
    return first, step


def _probing(space: Space, draw: Draw) -> Iterator[Case]:
    """Draw each declared probe at sizes from short to long reductions, and cases with NaN and infinities."""
    task, turn = space.task, draw.below(len(space.dtypes))
    wanted = [probe for probe in probes.VALUED if probe in task.probes and probes.applies(task, probe)]
    wanted += ["nonfinite"] if probes.spoilable(task) else []
    for probe in wanted:
        turn += 1
        in_turn = (space.dtypes[turn % len(space.dtypes)],)
        for dtype in space.dtypes if space.budget.every_dtype else in_turn:
            for axes in _probe_sizes(space, draw, probe, dtype):
                yield _probe(axes, dtype, draw.choice(_probe_layouts(space)), probe, draw.bits())


def _probe_sizes(space: Space, draw: Draw, probe: Probe, dtype: FloatDType) -> list[sizes.Axes]:
    if probe == "nonfinite":
        return [sizes.draw_wide(space, draw, dtype) for _ in range(space.budget.nonfinite)]
    if probe == "alike":
        count = space.budget.probes * max(_LEAST_ALIKE, _ALIKE // len(space.dtypes))
        return [
            sizes.draw_within(space, draw, dtype, probes.axis_of_alike(space.task), probes.ALIKE) for _ in range(count)
        ]
    return sizes.draw_spread(
        space, draw, dtype, space.budget.probes,
        length=lambda axes: probes.length_of(space.task, axes),
        limit=probes.longest(space.task, probe, dtype),
        is_telling=lambda axes: probes.is_telling(space.task, probe, axes),
    )  # fmt: skip


def _probe_layouts(space: Space) -> list[Layout]:
    return [layout for layout in space.layouts if layout in _PROBE_LAYOUTS]


def _edges(space: Space, draw: Draw) -> Iterator[Case]:
    """Draw for each axis a case in which it is 1, and one in which it is empty, if there are such cases."""
    dtypes = draw.shuffled(space.dtypes)
    for number, axis in enumerate(space.task.axes):
        dtype = dtypes[number % len(dtypes)]
        if (thin := sizes.draw_thin(space, draw, dtype, axis)) is not None:
            yield _case(thin, dtype, draw.choice(space.layouts), draw.choice(space.distributions), draw.bits())
        if (empty := sizes.draw_empty(space, draw, dtype, axis)) is not None:
            yield _probe(empty, dtype, draw.choice(_probe_layouts(space)), "empty", draw.bits())


def _conjunctions(space: Space, draw: Draw) -> Iterator[Case]:
    """Draw cases with two equal or long axes and with large round ones.

    The budget asks for some of them at random, or for all of them and for large cases.
    """
    count, dtypes = space.budget.conjunctions, draw.shuffled(space.dtypes)
    for number, axes in enumerate(_rare_sizes(space, draw, dtypes, count)):
        if axes is not None:
            dtype = dtypes[number % len(dtypes)]
            yield _case(axes, dtype, draw.choice(space.layouts), draw.choice(space.distributions), draw.bits())


def _rare_sizes(
    space: Space, draw: Draw, dtypes: Sequence[FloatDType], count: int | None
) -> Iterator[sizes.Axes | None]:
    """Draw sizes for one dtype after the other; None where there are none within the budget."""
    in_turn = cycle(dtypes)
    for pair in draw.shuffled(conjunctions.alike(space))[:count]:
        yield conjunctions.draw_equal(space, draw, next(in_turn), pair)
    scaled = draw.shuffled(conjunctions.scaled(space))
    for axis in scaled[: None if count is None else _OF_96 * count]:
        yield conjunctions.draw_round(space, draw, next(in_turn), axis, conjunctions.OF_96)
    for axis in scaled[:count]:
        yield conjunctions.draw_round(space, draw, next(in_turn), axis, conjunctions.OTHERS)
    if count is None:
        for pair in conjunctions.long_together(space):
            yield conjunctions.draw_long(space, draw, next(in_turn), pair)
        for axis in scaled:
            yield conjunctions.draw_extreme(space, draw, next(in_turn), axis)
        for _ in dtypes:
            yield conjunctions.draw_largest(space, draw, next(in_turn))


def _pinned(space: Space, pinned: Sequence[Case]) -> Iterator[Case]:
    """Select pinned cases within the budget. Layouts that the calling convention does not know become contiguous."""
    for case in pinned:
        if case.dtype in space.dtypes and space.affords(case.axes, case.dtype):
            known = case.layout in layouts.DENSE or not space.dense
            yield case if known else case.model_copy(update={"layout": "contiguous"})


def _case(axes: dict[str, int], dtype: FloatDType, layout: Layout, distribution: Distribution, seed: int) -> Case:
    return Case(axes=axes, dtype=dtype, layout=layout, distribution=distribution, seed=seed)


def _probe(axes: dict[str, int], dtype: FloatDType, layout: Layout, probe: Probe, seed: int) -> Case:
    return Case(axes=axes, dtype=dtype, layout=layout, probe=probe, seed=seed)


def _bytes(task: Task, axes: dict[str, int]) -> int:
    return arithmetic.evaluate(task.cost.bytes, {**axes, "itemsize": ITEMSIZE[task.dtypes[0]]})
