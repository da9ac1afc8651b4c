"""Sizes that independent draws rarely meet: two axes that are equal or long, and round numbers, as models have them.

Kernels have code of their own for square matrices, and for whole numbers of tiles. Independent sizes are a multiple of
96 above 500 once in some hundred cases, and two axes are equal not much more often. Height and width of a picture are
hardly ever long at once, as large cases are mostly made of other axes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import combinations

from robust_kbench.cases import sizes
from robust_kbench.cases.draw import Draw
from robust_kbench.cases.sizes import Axes
from robust_kbench.cases.space import Space
from robust_kbench.errors import SpecError

Family = Callable[[int], int]
"""The largest round number of one kind up to a number from 1 on; 0, where there is none."""

_LEAST = 32  # smaller sizes are drawn often enough, and so are smaller equal ones
_LONG = 256
_USUAL = 512  # from here on kernels take other ways, as far as the axis and the budget go
_CANDIDATES, _MANY = 12, 64
_ROUND_SHARE = 0.5
BEYOND = 4
"""How many times as many elements as others the large case may have: a kernel may be right up to any one number."""


def alike(space: Space) -> list[tuple[str, str]]:
    """List the pairs of axes that can be the same number of at least 32."""
    return [pair for pair in combinations(space.task.axes, 2) if _common(space, pair)]


def scaled(space: Space) -> list[str]:
    """List the axes with a range of sizes of at least 32; of a few values each one is drawn often enough."""
    ranges = {axis: space.sizes(axis) for axis in space.task.axes}
    return [axis for axis, range_ in ranges.items() if isinstance(range_, range) and range_ and range_[-1] >= _LEAST]


def draw_equal(space: Space, draw: Draw, dtype: str, pair: tuple[str, str]) -> Axes | None:
    """Draw sizes of which two are equal, and round in half of the cases; None where the budget has no room for them."""
    common = _common(space, pair)
    for _ in range(_CANDIDATES):
        if not common:
            return None
        size = draw.choice(common) if isinstance(common, tuple) else _some(common, draw)
        if (axes := sizes.draw_beside(space, draw, dtype, dict.fromkeys(pair, size))) is not None:
            return axes
        common = _below(common, size)
    return None


def draw_round(space: Space, draw: Draw, dtype: str, axis: str, families: Sequence[Family]) -> Axes | None:
    """Draw sizes of which `axis` is round and large, and others are round where they can be; None where none fit.

    `families`: kinds of round numbers, of which one is chosen.
    """
    possible = space.sizes(axis)
    largest = possible[-1]
    for _ in range(_CANDIDATES):
        least = max(1, min(_USUAL, largest // 2))
        size = draw.choice(families)(draw.log_uniform(least, largest))
        if size < max(_LEAST, least) or size not in possible:
            continue
        if (axes := sizes.draw_beside(space, draw, dtype, {axis: size})) is not None:
            return _rounded(space, draw, dtype, axes, axis)
        largest = size - 1
    return None


def long_together(space: Space) -> list[tuple[str, str]]:
    """List the pairs of axes with ranges that can both be at least 256."""
    return list(combinations([axis for axis in scaled(space) if space.sizes(axis)[-1] >= _LONG], 2))


def draw_long(space: Space, draw: Draw, dtype: str, pair: tuple[str, str]) -> Axes | None:
    """Draw sizes of which two are at least 256, each by itself; None where the budget has no room for them.

    In half of them both are whole tiles, and all others ragged and as long as they can be: an end of a sum that is
    left out for whole tiles is else met where everything is whole.
    """
    most, fixed = {axis: space.sizes(axis)[-1] for axis in pair}, {}
    are_tiles = draw.unit() < _ROUND_SHARE
    for _ in range(_CANDIDATES):
        fixed = {axis: _up_to(space.sizes(axis), draw.log_uniform(_LONG, most[axis])) for axis in pair}
        if are_tiles:
            whole = {axis: size // _LONG * _LONG for axis, size in fixed.items()}
            fixed = {axis: size if size in space.sizes(axis) else fixed[axis] for axis, size in whole.items()}
        if (axes := sizes.draw_beside(space, draw, dtype, fixed)) is not None:
            return _ragged(space, draw, dtype, axes, pair) if are_tiles else axes
        most = {axis: max(_LONG, fixed[axis] // 2) for axis in pair}
    with suppress(SpecError):
        return sizes.draw_axes(space, draw, dtype, fixed)  # constraints may ask for other axes that are long, too
    return None


def draw_extreme(space: Space, draw: Draw, dtype: str, axis: str) -> Axes | None:
    """Draw sizes of which one is as large as the task or the budget admits; None where there is no room beside it.

    Kernels keep positions in sixteen bits, and look at no more of a cache than its usual length.
    """
    possible = space.sizes(axis)
    size = possible[-1]
    while size >= _LONG:
        if (axes := sizes.draw_beside(space, draw, dtype, {axis: size})) is not None:
            return axes
        size = _up_to(possible, size * 3 // 4)
    return None


def draw_largest(space: Space, draw: Draw, dtype: str) -> Axes:
    """Draw sizes that come near to four times the elements of the budget, or to its work."""
    beyond = replace(space, budget=replace(space.budget, elements=BEYOND * space.budget.elements))
    drawn = [sizes.draw_axes(beyond, draw, dtype) for _ in range(_MANY)]
    return max(drawn, key=lambda axes: beyond.share(axes, dtype))


def _ragged(space: Space, draw: Draw, dtype: str, axes: Axes, pair: tuple[str, str]) -> Axes:
    """`axes` with other sizes than those of `pair` odd, and as long as a random size and the budget admit."""
    for axis in draw.shuffled([each for each in scaled(space) if each not in pair]):
        possible = space.sizes(axis)
        size = draw.log_uniform(_LONG, max(_LONG, possible[-1]))
        while size >= _LEAST:
            changed = {**axes, axis: size | 1}
            if size | 1 in possible and space.admits(changed, dtype):
                axes = changed
                break
            size //= 2
    return axes


def _rounded(space: Space, draw: Draw, dtype: str, axes: Axes, leading: str) -> Axes:
    """`axes` with other sizes rounded down in half of the cases: models' sizes are round together."""
    for axis in draw.shuffled([each for each in scaled(space) if each != leading]):
        size = draw.choice(draw.choice((OF_96, OTHERS)))(axes[axis])
        changed = {**axes, axis: size}
        if draw.unit() < _ROUND_SHARE and size >= _LEAST and space.admits(changed, dtype):
            axes = changed
    return axes


def _common(space: Space, pair: tuple[str, str]) -> range | tuple[int, ...]:
    """The sizes of at least 32 that both axes can have."""
    one, other = (space.sizes(axis) for axis in pair)
    if isinstance(one, range) and isinstance(other, range) and one.step == other.step == 1:
        return range(max(one.start, other.start, _LEAST), min(one.stop, other.stop))
    few, many = sorted((one, other), key=len)
    return tuple(size for size in few if size >= _LEAST and size in many)


def _some(common: range, draw: Draw) -> int:
    size = draw.log_uniform(common[0], common[-1])
    round_size = draw.choice(draw.choice((OF_96, OTHERS)))(size)
    return round_size if round_size in common and draw.unit() < _ROUND_SHARE else size


def _up_to(possible: Sequence[int], size: int) -> int:
    """The largest possible size up to `size`; the least one where there is none."""
    return possible[max(0, bisect_right(possible, size) - 1)]


def _below(common: range | tuple[int, ...], size: int) -> range | tuple[int, ...]:
    if isinstance(common, range):
        return range(common.start, size)
    return tuple(each for each in common if each < size)


def _of_96(size: int) -> int:
    return size // 96 * 96


def _times_power(factor: int) -> Family:
    """Round down to `factor` times a power of two."""
    return lambda size: factor << (size // factor).bit_length() - 1 if size >= factor else 0


def _decimal(size: int) -> int:
    """Round down to 1, 2 or 5 times a power of ten."""
    power: int = 10 ** (len(str(size)) - 1)
    return max(digit * power for digit in (1, 2, 5) if digit * power <= size)


OF_96: tuple[Family, ...] = (_of_96, _times_power(3))
"""Multiples of 96, and 3 * 2**k: those of tiles that are no power of two."""
OTHERS: tuple[Family, ...] = (_times_power(1), _times_power(5), _times_power(7), _decimal)
"""Powers of two, 1280 and 14336, and decimal ones."""
