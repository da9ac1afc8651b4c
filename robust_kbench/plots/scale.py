"""Axes that map a value to its place between 0 and 1, and the round values to write beside them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from robust_kbench.timing.statistics import Ratio

_LOG_FROM = 3.0  # largest sample over smallest; below it a linear axis tells more
_FAR = 10.0  # a floor beyond this factor would squeeze the samples into a corner of the axis
_PADDING = 0.04
_NARROWEST_SPEEDUP = 1.1


@dataclass(frozen=True)
class Scale:
    """Scale from `low` to `high`, both above 0 if it is logarithmic."""

    low: float
    high: float
    is_log: bool

    def at(self, value: float) -> float:
        """Return 0 at `low`, 1 at `high`, and a share between them; values beyond are put at the end."""
        if value <= self.low or value >= self.high:
            return 0.0 if value <= self.low else 1.0
        if self.is_log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def has(self, value: float) -> bool:
        """Tell if the value is on the axis."""
        return self.low <= value <= self.high


def time_scale(samples_us: Sequence[float], floor_us: float | None = None) -> Scale:
    """Return a scale that holds every sample, and the floor unless that is far from all of them."""
    low, high = min(samples_us), max(samples_us)
    if floor_us is not None and low / _FAR <= floor_us <= high * _FAR:
        low, high = min(low, floor_us), max(high, floor_us)
    if high / low >= _LOG_FROM:
        return _padded_log(low, high)
    padding = max(_PADDING * (high - low), _PADDING * high / 10)
    return Scale(low - padding, high + padding, is_log=False)


def speedup_scale(ratios: Iterable[Ratio]) -> Scale:
    """Return a logarithmic scale. Half and twice as fast are equally far from 1.0, which it always holds."""
    bounds = [bound for ratio in ratios for bound in (ratio.value, ratio.low, ratio.high)]
    usable = [bound for bound in bounds if math.isfinite(bound) and bound > 0]
    return _padded_log(min([1 / _NARROWEST_SPEEDUP, *usable]), max([_NARROWEST_SPEEDUP, *usable]))


def _padded_log(low: float, high: float) -> Scale:
    factor = (high / low) ** _PADDING
    return Scale(low / factor, high * factor, is_log=True)


def ticks(scale: Scale, most: int = 6) -> list[float]:
    """Return at most about `most` round values on the axis, in ascending order."""
    if scale.is_log and len(found := _log_ticks(scale, most)) >= 3:
        return found
    return _linear_ticks(scale, most)


def _log_ticks(scale: Scale, most: int) -> list[float]:
    decades = range(math.floor(math.log10(scale.low)), math.ceil(math.log10(scale.high)) + 1)
    every = -(-len(decades) // most)
    for digits in ((1, 2, 5), (1, 3), (1,)):
        found = [float(f"{digit}e{decade}") for decade in decades for digit in digits]
        found = [value for value in found if scale.has(value)]
        if len(found) <= most:
            return found
    return found[::every]


def _linear_ticks(scale: Scale, most: int) -> list[float]:
    rough = (scale.high - scale.low) / most
    decade = math.floor(math.log10(rough))
    step = next(m * 10.0**decade for m in (1, 2, 5, 10) if m * 10.0**decade >= rough)
    first, last = math.ceil(scale.low / step), math.floor(scale.high / step)
    return [round(number * step, max(0, 1 - decade)) for number in range(first, last + 1)]
