"""Numbers in, numbers out: the median of log ratios and its distribution-free interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Ratio:
    """A speedup (above 1: the candidate is faster) with its 95 % interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.2f}x [{self.low:.2f}, {self.high:.2f}]"


def log_ratios(baseline_ns: Sequence[int], candidate_ns: Sequence[int]) -> list[float]:
    """ln(baseline / candidate) of each round, so that drift common to a round cancels."""
    pairs = zip(baseline_ns, candidate_ns, strict=True)
    return [math.log(max(base, 1) / max(candidate, 1)) for base, candidate in pairs]


def median_interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Median with the distribution-free 95 % interval from order statistics; (low, median, high).

    Ranks n/2 -+ 0.98 sqrt(n), the normal approximation of the binomial. Needs at least one value; below six values
    no interval of that level exists and the extremes are given.
    """
    ordered = np.sort(np.asarray(values, dtype=float))
    count = len(ordered)
    rank = max(1, int(count / 2 - 0.98 * math.sqrt(count)))
    return float(ordered[rank - 1]), float(np.median(ordered)), float(ordered[count - rank])


def half_width(values: Sequence[float]) -> float:
    """Half the width of `median_interval`."""
    low, _, high = median_interval(values)
    return (high - low) / 2


def ratio(logs: Sequence[float]) -> Ratio:
    """The speedup that log ratios of one or more sessions stand for."""
    low, median, high = median_interval(logs)
    return Ratio(math.exp(median), math.exp(low), math.exp(high))


def geometric_mean(ratios: Sequence[Ratio]) -> Ratio:
    """The geometric mean of values and of bounds; conservative, because the bounds need not be reached together."""

    def mean(values: Sequence[float]) -> float:
        return math.exp(sum(math.log(value) for value in values) / len(values))

    return Ratio(mean([r.value for r in ratios]), mean([r.low for r in ratios]), mean([r.high for r in ratios]))
