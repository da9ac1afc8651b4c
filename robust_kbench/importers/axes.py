"""Axes of a problem: the constants that can be axes, the sizes that they can take, and all shapes in terms of them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from robust_kbench.cases.draw import Draw
from robust_kbench.importers.fitting import Sample, fit
from robust_kbench.importers.measuring import Bench, Measure, Shape
from robust_kbench.importers.problem import Refused

Expression = int | str
Sizes = tuple[Expression, ...]

_LEAST_PARAMETER_AXIS = 16
_NO_AXIS = re.compile(
    r"kernel|stride|pad|dilation|group|head|layers?$|layers?_\d|pool|block|window|patch|_num$|depths", re.IGNORECASE
)
"""Names of constants that are no axes if they change weights alone: they say how, not how much, is computed."""
_SMALL, _STEP = 16, 8
_TESTED = (*range(1, 41), 42, 44, 48, 50, 52, 56, 60, 64, 80, 96, 97, 128)
_FEWER_TESTED = (1, 2, 3, 4, 5, 6, 7, 8, 12, 14, 16, 20, 24, 28, 31, 32, 36, 44, 52, 56, 60, 64)
_SLOW_S = 0.04
_HIGHEST = 128
_STEPS = (1, 2, 3, 4, 5, 6, 7, 8, 12, 14, 16, 24, 28, 32, 48, 56, 64, 96, 128)
_JOINT, _MOST_REPAIRS = 8, 24
_MOST_FLOPS, _MOST_ELEMENTS = 1 << 31, 1 << 22
"""Limits at the small binding, where the problem is called many times, in float64 as well."""
_LEAST = 4


@dataclass(frozen=True)
class Range:
    """Sizes that a constant can take; `values` where they are a set."""

    low: int
    high: int
    multiple_of: int = 1
    values: tuple[int, ...] = ()

    @property
    def sizes(self) -> Sequence[int]:
        """Every size that the constant can take."""
        first = -(-self.low // self.multiple_of) * self.multiple_of
        return self.values or range(first, self.high + 1, self.multiple_of)

    @property
    def small_sizes(self) -> Sequence[int]:
        """Sizes that are tried together with sizes of other constants."""
        return [size for size in self.sizes if size <= _HIGHEST] or [self.low]


@dataclass(frozen=True)
class Space:
    """Axes of a problem: the constants that its shapes are functions of, and those functions.

    `origin` is a small binding of all of them that works, and `measure` is the measurement there.
    """

    ranges: Mapping[str, Range]
    origin: Mapping[str, int]
    measure: Measure
    inputs: Mapping[str, Sizes]
    outputs: tuple[Sizes, ...]
    draws: tuple[Sizes, ...]
    numbers: Mapping[str, Expression]
    lengths: Expression
    flops: Expression

    def place_of(self, axis: str, without: Collection[str] = ()) -> tuple[str, int] | None:
        """Return an input with a dimension of exactly this size, and the dimension; None if only `without` has one."""
        for name, sizes in self.inputs.items():
            if axis in sizes and name not in without:
                return name, sizes.index(axis)
        return None


class NoForm(Exception):
    """Error for a size that no expression was found for. `axis` is to blame."""

    def __init__(self, axis: str) -> None:
        super().__init__(axis)
        self.axis = axis


def find(bench: Bench, values: Mapping[str, int], promote: Callable[[Mapping[str, int]], None]) -> Space:
    """Return the space of all constants that can be axes. Raises Refused where the problem does not run at all."""
    names = [name for name in values if _changes_shapes(bench, values, name)]
    while True:
        origin = _shrunk(bench, {name: values[name] for name in names})
        if origin is None and not names:
            raise Refused(bench.error or "it cannot be called")
        if origin is None:
            names.pop()
            continue
        promote(origin)
        try:
            return _space(bench, values, origin)
        except NoForm as error:
            names.remove(error.axis)


def _changes_shapes(bench: Bench, values: Mapping[str, int], name: str) -> bool:
    """Tell if the constant is a size of an input, or a large one of weights, and can take other values."""
    own, at = values[name], bench.shapes({})
    if at is None:
        raise Refused(bench.error)
    for other in dict.fromkeys((own + 1, own - 1, own * 2, own // 2, own + 2, own + 4, own + 8)):
        found = bench.shapes({name: other}) if other > 0 else None
        if found is None or not found.is_like(at) or found.inputs == at.inputs:
            continue
        if any(found.arguments[each] != shape for each, shape in at.arguments.items()):
            return True
        return own >= _LEAST_PARAMETER_AXIS and not _NO_AXIS.search(name)
    return False


def _shrunk(bench: Bench, own: Mapping[str, int]) -> dict[str, int] | None:
    """Return small sizes of all axes that work together, different ones where possible; None where nothing works."""
    together = {name: min(size, _SMALL + _STEP * place) for place, (name, size) in enumerate(own.items())}
    for device in ("meta", "cpu"):
        bench.device = device
        if bench.measure(together):
            return _lighter(bench, together)
    for device in ("meta", "cpu"):
        bench.device = device
        if (found := _shrunk_in_turn(bench, own)) is not None:
            return _lighter(bench, found)
    return None


def _lighter(bench: Bench, binding: dict[str, int]) -> dict[str, int]:
    """Halve the largest axes while the binding is much work, as long as that works and makes it less."""
    while (found := bench.measure(binding)) is not None and _is_heavy(found):
        halves = [
            {**binding, name: binding[name] // 2}
            for name in sorted(binding, key=lambda each: -binding[each])
            if binding[name] // 2 >= _LEAST
        ]
        lighter = next((each for each in halves if _is_less(bench.measure(each), found)), None)
        if lighter is None:
            break
        binding = lighter
    return binding


def _is_heavy(measure: Measure) -> bool:
    return measure.flops > _MOST_FLOPS or measure.elements > _MOST_ELEMENTS


def _is_less(measure: Measure | None, other: Measure) -> bool:
    return measure is not None and (measure.flops, measure.elements) < (other.flops, other.elements)


def _shrunk_in_turn(bench: Bench, own: Mapping[str, int]) -> dict[str, int] | None:
    """Shrink one axis after the other from the problem's own sizes, the largest first; None where nothing works."""
    current, works = dict(own), False
    for name in sorted(own, key=lambda each: -own[each]):
        for size in _smaller(own[name]):
            if bench.measure({**current, name: size}):
                current[name], works = size, True
                break
    return current if works or bench.measure(current) else None


def _smaller(size: int) -> Iterator[int]:
    """Yield smaller sizes: round ones and parts of `size`, small ones first; then parts that may be too small."""
    parts = {size // part for part in (2, 4, 8, 16, 32, 64, 128) if size % part == 0 and size // part >= 1}
    small = {part for part in parts if part < _SMALL}
    yield from sorted({*(each for each in (16, 32, 64, 128) if each < size), *parts} - small)
    yield from sorted(small, reverse=True)


def _space(bench: Bench, values: Mapping[str, int], origin: Mapping[str, int]) -> Space:
    at = bench.measure(origin)
    if at is None:
        raise Refused(bench.error)
    measures = [(origin, at)]
    ranges = {}
    for name in origin:
        line = list(_along(bench, origin, name, values[name]))
        sizes = [binding[name] for binding, found in line if found is not None and found.is_like(at)]
        tested = [binding[name] for binding, _ in line]
        found_range = _range(values[name], origin[name], {*sizes, origin[name]}, {*tested, origin[name]})
        if found_range is None:
            raise NoForm(name)
        ranges[name] = found_range
        measures += [(binding, found) for binding, found in line if found is not None and found.is_like(at)]
    measures += _together(bench, ranges, origin, at)
    measures = [each for each in measures if all(each[0][name] in ranges[name].sizes for name in ranges)]
    return _fitted(ranges, measures)


def _along(
    bench: Bench, origin: Mapping[str, int], name: str, own: int
) -> Iterator[tuple[dict[str, int], Measure | None]]:
    tested = _TESTED if bench.seconds < _SLOW_S else _FEWER_TESTED
    further: list[int] = []
    if origin[name] >= _HIGHEST // 2:  # perhaps no smaller step works
        further = [origin[name] + step for step in (1, 2, 4, 8, 16, 32, 64, 128)]
        further += [times * origin[name] for times in (2, 3, 4)]
    for size in (size for size in sorted({*tested, *further}) if size <= max(own, _HIGHEST)):
        binding = {**origin, name: size}
        yield binding, bench.measure(binding)


def _range(own: int, small: int, valid: set[int], tested: set[int]) -> Range | None:
    """Derive all possible sizes from the sizes that were tried: multiples of the least step, from the least on."""
    for step in dict.fromkeys((*_STEPS, small)):
        multiples = sorted(size for size in tested if size % step == 0)
        good = [size for size in multiples if size in valid]
        if own % step or len(good) < 2:
            continue
        low = next((size for size in good if all(larger in valid for larger in multiples if larger >= size)), None)
        if low is not None and low <= small and sum(size >= low for size in good) >= 2:
            high = max(own, max(good)) // step * step
            return Range(min(low, own), high, step)
    return None


def _together(
    bench: Bench, ranges: dict[str, Range], origin: Mapping[str, int], at: Measure
) -> list[tuple[Mapping[str, int], Measure]]:
    """Measure random sizes of all axes at once, which have to work too.

    Where they do not work, the axis to blame can no longer take its small size: `ranges` change. Raises NoForm for an
    axis that does not go with others.
    """
    if len(ranges) < 2:
        return []
    draw = Draw(0, "together")
    found: list[tuple[Mapping[str, int], Measure]] = []
    repairs = 0
    while len(found) < _JOINT:
        binding = {name: draw.choice(each.small_sizes) for name, each in ranges.items()}
        measure = bench.measure(binding)
        if measure is not None and measure.is_like(at):
            found.append((binding, measure))
            continue
        name, repaired = _repaired(bench, ranges, origin, binding)
        repairs += 1
        if repaired is None or repairs > _MOST_REPAIRS:
            raise NoForm(name)
        ranges[name] = repaired
        found = [each for each in found if each[0][name] in repaired.sizes]
    return found


def _repaired(
    bench: Bench, ranges: Mapping[str, Range], origin: Mapping[str, int], binding: Mapping[str, int]
) -> tuple[str, Range | None]:
    """Return an axis that the binding fails by, and its remaining range, or None where its size is not too small."""
    names = sorted(ranges, key=lambda name: binding[name] / max(1, origin[name]))
    for name in names:
        if binding[name] < origin[name] and bench.measure({**binding, name: origin[name]}) is not None:
            larger = [size for size in ranges[name].sizes if binding[name] < size <= origin[name]]
            return name, replace(ranges[name], low=larger[0], values=())
    blamed = [name for name in names if bench.measure({**binding, name: origin[name]}) is not None]
    return (blamed or names)[-1], None


def _fitted(ranges: Mapping[str, Range], measures: Sequence[tuple[Mapping[str, int], Measure]]) -> Space:
    origin, at = measures[0]

    def expression(number_of: Callable[[Measure], int]) -> Expression:
        samples = [Sample(binding, number_of(measure)) for binding, measure in measures]
        found = fit(samples)
        if found is None:
            raise NoForm(_moving(samples, list(ranges)))
        return found

    def sizes(shape_of: Callable[[Measure], Shape]) -> Sizes:
        return tuple(expression(lambda m, d=dim: shape_of(m)[d]) for dim in range(len(shape_of(at))))  # type: ignore[misc]

    inputs = {name: sizes(lambda m, n=name: m.inputs[n]) for name in at.inputs}  # type: ignore[misc]
    space = Space(
        ranges, origin, at, inputs,
        tuple(sizes(lambda m, p=place: m.outputs[p]) for place in range(len(at.outputs))),  # type: ignore[misc]
        tuple(sizes(lambda m, p=place: m.draws[p]) for place in range(len(at.draws))),  # type: ignore[misc]
        {name: expression(lambda m, n=name: m.numbers[n]) for name in at.numbers},  # type: ignore[misc]
        _lengths(measures), _monomial(measures),
    )  # fmt: skip
    for name in ranges:
        if space.place_of(name) is None:
            raise NoForm(name)
    return space


def _moving(samples: Sequence[Sample], names: Sequence[str]) -> str:
    """Return the last axis that the value depends on."""
    origin = samples[0]
    for name in reversed(names):
        for sample in samples:
            others_rest = all(sample.axes[n] == size for n, size in origin.axes.items() if n != name)
            if others_rest and sample.value != origin.value:
                return name
    return names[-1]


def _lengths(measures: Sequence[tuple[Mapping[str, int], Measure]]) -> Expression:
    """Return the terms that are summed on the way, added up over all operators; as a rule, a bound."""
    _, at = measures[0]
    if all(len(measure.lengths) == len(at.lengths) for _, measure in measures):
        counted: dict[Expression, int] = {}
        columns = zip(*(measure.lengths for _, measure in measures), strict=True)
        for column in columns:
            found = fit([Sample(binding, value) for (binding, _), value in zip(measures, column, strict=True)])
            found = max(column) if found is None else found
            counted[found] = counted.get(found, 0) + 1
        constant = sum(length * count for length, count in counted.items() if isinstance(length, int))
        terms = [_times(count, each) for each, count in counted.items() if isinstance(each, str)]
        whole = " + ".join([*terms, *([str(constant)] if constant else [])])
        if not terms:
            return max(1, constant)
        if len(whole) <= 200:
            return whole
    return max(1, *(sum(measure.lengths) for _, measure in measures))


def _times(count: int, expression: str) -> str:
    return expression if count == 1 else f"{count} * ({expression})"


def _monomial(measures: Sequence[tuple[Mapping[str, int], Measure]]) -> Expression:
    """Return the operations of a call: a number times powers of the axes, close at the sizes that were tried."""
    origin, at = measures[0]
    powers = {name: _power(measures, name) for name in origin}
    product = 1
    for name, power in powers.items():
        product *= origin[name] ** power
    factor = at.flops / product
    factors = [name for name, power in powers.items() for _ in range(power)]
    if not factors:
        return max(1, at.flops)
    if factor >= 1:
        return " * ".join([*([str(round(factor))] if round(factor) > 1 else []), *factors])
    return f"{' * '.join(factors)} // {max(1, round(1 / factor))}"


def _power(measures: Sequence[tuple[Mapping[str, int], Measure]], name: str) -> int:
    origin, at = measures[0]
    line = [
        (binding[name], found.flops)
        for binding, found in measures
        if all(size == origin[other] for other, size in binding.items() if other != name)
    ]
    (x0, y0), (x1, y1) = (origin[name], at.flops), max(line)
    if x1 == x0:
        (x0, y0), (x1, y1) = min(line), (x0, y0)
    if x1 == x0 or not y0 or not y1:
        return 0
    return max(0, round(math.log(y1 / y0) / math.log(x1 / x0)))
