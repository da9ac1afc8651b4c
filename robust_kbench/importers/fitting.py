"""Expressions over axes from measured sizes: the shape at other sizes than those that were tried.

The first sample is the origin; others differ from it in one axis or in several. An expression is accepted only if it is
right at all of them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from robust_kbench.schema import arithmetic

_LONGEST = 200
_MOST_SLOPE, _MOST_DIVISOR = 8, 64
_CONSTANT = re.compile(r"(?<!/) [+-] \d+$")


class Sample(NamedTuple):
    """Number that was found with these sizes of the axes."""

    axes: Mapping[str, int]
    value: int


def fit(samples: Sequence[Sample]) -> int | str | None:
    """Return a simple expression that gives the value of every sample; None where none was found."""
    for expression in _candidates(samples):
        if len(str(expression)) <= _LONGEST and _is_right(expression, samples):
            return expression
    return None


def _is_right(expression: int | str, samples: Sequence[Sample]) -> bool:
    return all(arithmetic.evaluate(expression, sample.axes) == sample.value for sample in samples)


def _candidates(samples: Sequence[Sample]) -> Iterator[int | str]:
    origin = samples[0]
    yield origin.value
    along = {name: _along(samples, name) for name in origin.axes}
    moving = {name: line for name, line in along.items() if len({value for _, value in line}) > 1}
    if len(moving) == 1:
        ((name, line),) = moving.items()
        yield from _of_one(name, line)
    elif moving:
        yield from _products(moving, origin)
        yield from _sums(moving, origin)


def _along(samples: Sequence[Sample], name: str) -> list[tuple[int, int]]:
    """Return the size of one axis and the value, for the samples where all other axes are the origin's."""
    origin = samples[0].axes
    return [
        (sample.axes[name], sample.value)
        for sample in samples
        if all(size == origin[other] for other, size in sample.axes.items() if other != name)
    ]


def _of_one(name: str, line: Sequence[tuple[int, int]]) -> Iterator[str]:
    """Yield straight lines, lines that are rounded down, and squares of these, perhaps plus one."""
    yield from _straight(name, line)
    yield from _rounded(name, line)
    for more in (0, 1):
        yield from _squares(name, line, more)


def _straight(name: str, line: Sequence[tuple[int, int]]) -> Iterator[str]:
    (x0, y0), (x1, y1) = line[0], next(point for point in line if point[1] != line[0][1])
    if x1 == x0:
        return
    slope, rest = divmod(y1 - y0, x1 - x0)
    if rest == 0 and all(y == y0 + slope * (x - x0) for x, y in line):
        yield _linear(name, slope, y0 - slope * x0)


def _linear(name: str, slope: int, constant: int) -> str:
    term = name if slope == 1 else f"{slope} * {name}"
    if slope < 0:
        return f"{constant} - {name}" if slope == -1 else f"{constant} - {-slope} * {name}"
    return term if constant == 0 else f"{term} + {constant}" if constant > 0 else f"{term} - {-constant}"


def _rounded(name: str, line: Sequence[tuple[int, int]]) -> Iterator[str]:
    """Yield (p * size + q) // s, the form that counts windows which step over an image."""
    for divisor in range(2, _MOST_DIVISOR + 1):
        for slope in range(1, _MOST_SLOPE + 1):
            if math.gcd(slope, divisor) > 1 and slope > 1:
                continue
            low = max(divisor * y - slope * x for x, y in line)
            high = min(divisor * y - slope * x for x, y in line) + divisor - 1
            if low <= high:
                constant = 0 if low <= 0 <= high else low if low > 0 else high
                inner = _linear(name, slope, constant)
                yield f"{inner} // {divisor}" if inner == name else f"({inner}) // {divisor}"


def _squares(name: str, line: Sequence[tuple[int, int]], more: int) -> Iterator[str]:
    """Yield C * w * w + `more`, where w is a line."""
    common = math.gcd(*(y - more for _, y in line))
    for factor in (divisor for divisor in range(1, min(common, 4096) + 1) if common % divisor == 0):
        roots = [math.isqrt((y - more) // factor) if y > more else 0 for _, y in line]
        if all(factor * root * root == y - more for root, (_, y) in zip(roots, line, strict=True)):
            for width in _lines(name, [(x, root) for (x, _), root in zip(line, roots, strict=True)]):
                square = f"{_factor(width)} * {_factor(width)}"
                whole = square if factor == 1 else f"{factor} * {square}"
                yield whole if more == 0 else f"{whole} + {more}"


def _lines(name: str, line: Sequence[tuple[int, int]]) -> Iterator[str]:
    if len({y for _, y in line}) > 1:
        yield from _straight(name, line)
        yield from _rounded(name, line)


def _factor(expression: str) -> str:
    """Put the expression in brackets, unless it is a name."""
    return expression if expression.isidentifier() else f"({expression})"


def _products(moving: Mapping[str, Sequence[tuple[int, int]]], origin: Sample) -> Iterator[str]:
    """Yield a number times one expression for each axis, perhaps plus one."""
    for more in (0, 1):
        parts, rest = [], origin.value - more
        for name, line in moving.items():
            common = math.gcd(*(y - more for _, y in line)) or 1
            reduced = [(x, (y - more) // common) for x, y in line]
            expression = next((e for e in _of_one(name, reduced) if _fits_line(e, name, reduced)), None)
            if expression is None or reduced[0][1] == 0 or rest % reduced[0][1]:
                break
            rest //= reduced[0][1]
            parts.append(_factor(expression))
        else:
            whole = " * ".join([*([] if rest == 1 else [str(rest)]), *parts])
            yield whole if more == 0 else f"{whole} + {more}"


def _fits_line(expression: str, name: str, line: Sequence[tuple[int, int]]) -> bool:
    return all(arithmetic.evaluate(expression, {name: x}) == y for x, y in line)


def _sums(moving: Mapping[str, Sequence[tuple[int, int]]], origin: Sample) -> Iterator[str]:
    """Yield the sum of one expression for each axis."""
    parts: list[str] = []
    constant = origin.value
    rounded: list[tuple[int, str, list[tuple[int, int]]]] = []
    for name, line in moving.items():
        steps = [(x, y - line[0][1]) for x, y in line]
        expression = next(_lines(name, steps), None)
        if expression is None:
            return
        term = _CONSTANT.sub("", expression)  # of a straight line; what is rounded ends in a divisor
        if "//" in term:
            rounded.append((len(parts), name, steps))
        parts.append(term)
        constant -= arithmetic.evaluate(term, {name: line[0][0]})
    for place, name, steps in rounded[:1]:
        whole = [(x, y + constant) for x, y in steps]
        parts[place], constant = next(_lines(name, whole), parts[place]), 0
    yield " + ".join(parts) + (f" + {constant}" if constant > 0 else f" - {-constant}" if constant < 0 else "")
