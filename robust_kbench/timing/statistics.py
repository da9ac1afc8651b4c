"""Statistics of speedups: medians of log ratios, with intervals that assume no distribution.

Within a session rounds are the replicate, and the interval of their median comes from order statistics. Sessions, that
is processes, differ by more than their rounds say (Kalibera and Jones, ISMM 2013). So they are the replicate of the
published interval: Student's interval of their estimates, and never narrower than that of all rounds together.

A measurement asks about one list at a time. A leaderboard that reads many records asks about all rows of a record at
once: the functions from `Ordered` on give the same, to the last bits, without a call of numpy for every list.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
_LEVEL = 0.95
_NORMAL_QUANTILE = 1.959964  # of half of what is left of the level
_MOST_PADDING = 8  # how many times as large as its content an array may become for the sake of one call


class Verdict(StrEnum):
    """Verdict of an interval on a speedup, given by how much equals differ."""

    FASTER = "faster"
    SAME = "same"
    SLOWER = "slower"
    AMBIGUOUS = "ambiguous"


class Ratio(NamedTuple):
    """Speedup (above 1: the candidate is faster) with its 95 % interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.2f}x [{self.low:.2f}, {self.high:.2f}]"

    def verdict(self, margin: float) -> Verdict:
        """Judge the interval. `margin`: the largest relative difference, such as 0.005, that counts as none."""
        if self.low > 1 + margin:
            return Verdict.FASTER
        if self.high < 1 / (1 + margin):
            return Verdict.SLOWER
        is_inside = self.low >= 1 / (1 + margin) and self.high <= 1 + margin
        return Verdict.SAME if is_inside else Verdict.AMBIGUOUS


def log_ratios(baseline_ns: Sequence[int], candidate_ns: Sequence[int]) -> list[float]:
    """Return ln(baseline / candidate) of each round, so that drift common to a round cancels."""
    pairs = zip(baseline_ns, candidate_ns, strict=True)
    return [math.log(max(base, 1) / max(candidate, 1)) for base, candidate in pairs]


def median(values: Sequence[float]) -> float:
    """Return the middle of at least one value."""
    ordered = sorted(values)  # numpy takes 13 us for twelve numbers, and this 0.4
    half = len(ordered) // 2
    return float(ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2)


def median_interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Return the median with the distribution-free 95 % interval from order statistics; (low, median, high).

    Ranks n/2 -+ 0.98 sqrt(n), the normal approximation of the binomial. Needs at least one value; below six values no
    interval of that level exists and the extremes are given.
    """
    ordered = np.sort(np.asarray(values, dtype=float))
    count = len(ordered)
    rank = max(1, int(count / 2 - 0.98 * math.sqrt(count)))
    return float(ordered[rank - 1]), float(np.median(ordered)), float(ordered[count - rank])


def half_width(values: Sequence[float]) -> float:
    """Return half the width of `median_interval`."""
    low, _, high = median_interval(values)
    return (high - low) / 2


def mean_interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Return the mean with Student's 95 % interval; (low, mean, high). Infinite for a single value."""
    from scipy.special import stdtrit  # a tenth of a second, which a command line that scores nothing need not pay

    numbers = np.asarray(values, dtype=float)
    centre = float(numbers.mean())
    if len(numbers) < 2:
        return -math.inf, centre, math.inf
    quantile = float(stdtrit(len(numbers) - 1, (1 + _LEVEL) / 2))
    width = quantile * float(numbers.std(ddof=1)) / math.sqrt(len(numbers))
    return centre - width, centre, centre + width


def least_shift(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Return the least shift of `ours` above `theirs`: the low end of the 95 % interval of Hodges and Lehmann (1963).

    It comes from the order statistics of all differences, by the normal approximation to the law of Mann and Whitney's
    count; minus infinity where there are too few.
    """
    differences = np.sort(np.subtract.outer(np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float)).ravel())
    pairs, both = len(ours) * len(theirs), len(ours) + len(theirs)
    rank = math.floor(pairs / 2 - _NORMAL_QUANTILE * math.sqrt(pairs * (both + 1) / 12))
    return float(differences[rank - 1]) if rank >= 1 else -math.inf


def ratio(sessions: Sequence[Sequence[float]]) -> Ratio:
    """Return the speedup of the log ratios of one or more sessions: the median of the sessions' medians.

    Its interval is the hull of Student's over the sessions and that of the median of all rounds. A single session (tier
    quick, never ranked) has only the latter.
    """
    estimates = [median(logs) for logs in sessions]
    low, _, high = median_interval([log for logs in sessions for log in logs])
    if len(sessions) > 1:
        between = mean_interval(estimates)
        low, high = min(low, between[0]), max(high, between[2])
    centre = median(estimates)
    return Ratio(math.exp(centre), math.exp(min(low, centre)), math.exp(max(high, centre)))


def geometric_mean(sessions: Sequence[Sequence[Sequence[float]]]) -> Ratio:
    """Return the speedup over several timed cases, from the log ratios of each one's sessions (case, session, round).

    Session number s of every case makes one estimate, and the interval is Student's over those. Where there is but one
    session, the bounds of the cases are averaged, which is conservative, because they need not be reached together.
    """
    ratios = [ratio(each) for each in sessions]
    value, low, high = (_mean_log([getattr(r, bound) for r in ratios]) for bound in ("value", "low", "high"))
    count = min(len(each) for each in sessions)
    if count > 1:
        means = [float(np.mean([median(each[number]) for each in sessions])) for number in range(count)]
        low, _, high = mean_interval(means)
    return Ratio(math.exp(value), math.exp(min(low, value)), math.exp(max(high, value)))


def _mean_log(values: Sequence[float]) -> float:
    return sum(map(math.log, values)) / len(values)


class Ordered(NamedTuple):
    """Rows of numbers, each in order, in `values` from its `starts`; none is empty."""

    values: npt.NDArray[Any]
    starts: npt.NDArray[Any]
    counts: npt.NDArray[Any]

    @classmethod
    def of(cls, values: npt.NDArray[Any], counts: Sequence[int]) -> Ordered:
        """Sort rows. `values`: all rows, one behind the other, of so many numbers each."""
        lengths = np.asarray(counts, dtype=np.intp)
        return cls(*_sorted_rows(values, lengths), lengths)

    def medians(self) -> list[float]:
        """Return the `median` of each row."""
        low, high = self._middles()
        found: list[float] = ((low + high) / 2).tolist()
        return found

    def log_medians(self) -> list[float]:
        """Return the `median` of the logarithms of each row."""
        low, high = map(np.log, self._middles())
        found: list[float] = ((low + high) / 2).tolist()
        return found

    def log_bounds(self) -> list[tuple[float, float]]:
        """Return the ends of `median_interval` of each row's logarithms."""
        ranks = np.maximum(1, (self.counts / 2 - 0.98 * np.sqrt(self.counts)).astype(np.intp))
        low, high = (np.log(self._at(rank)) for rank in (ranks - 1, self.counts - ranks))
        return list(zip(low.tolist(), high.tolist(), strict=True))

    def _middles(self) -> tuple[FloatArray, FloatArray]:
        return self._at((self.counts - 1) // 2), self._at(self.counts // 2)

    def _at(self, rank: npt.NDArray[Any]) -> FloatArray:
        found: FloatArray = self.values[self.starts + rank].astype(float)
        return found


def _sorted_rows(values: npt.NDArray[Any], counts: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Sort the rows, and tell where each starts. Shorter ones are filled up, so that one call sorts them all.

    A single long row among many would make the array too large: then each is sorted alone.
    """
    width = int(counts.max(initial=0))
    if width * len(counts) > _MOST_PADDING * len(values):
        ends = np.cumsum(counts)
        return np.concatenate([np.sort(row) for row in np.split(values, ends[:-1])]), ends - counts
    starts = np.arange(len(counts)) * width
    if width * len(counts) == len(values):
        padded = values.reshape(len(counts), width).copy()
    else:
        largest = np.inf if values.dtype.kind == "f" else np.iinfo(values.dtype).max
        padded = np.full((len(counts), width), largest, dtype=values.dtype)
        padded[np.arange(width) < counts[:, None]] = values
    padded.sort(axis=1)
    return padded.ravel(), starts


def middle(values: Sequence[float]) -> float:
    """Return the `median` of a few values."""
    ordered, count = sorted(values), len(values)
    half = count // 2
    return ordered[half] if count % 2 else (ordered[half - 1] + ordered[half]) / 2


def ratio_of(medians: Sequence[float], bounds: tuple[float, float]) -> Ratio:
    """Return the `ratio` of sessions whose log ratios have these medians; `bounds`: `median_interval` of all rounds."""
    low, high = bounds
    if len(medians) > 1:
        least, most = _student(medians)
        low, high = least if least < low else low, most if most > high else high
    centre = middle(medians)
    exp = math.exp
    return Ratio(exp(centre), exp(low if low < centre else centre), exp(high if high > centre else centre))


def geometric_mean_of(ratios: Sequence[Ratio], medians: Sequence[Sequence[float]]) -> Ratio:
    """Return the `geometric_mean` of cases with these ratios, whose sessions have these medians (case, session)."""
    value = _mean_log([each.value for each in ratios])
    if min(map(len, medians)) > 1:
        low, high = _student([math.fsum(session) / len(medians) for session in zip(*medians, strict=False)])
    else:
        low, high = _mean_log([each.low for each in ratios]), _mean_log([each.high for each in ratios])
    return Ratio(math.exp(value), math.exp(min(low, value)), math.exp(max(high, value)))


def _student(values: Sequence[float]) -> tuple[float, float]:
    """Return the ends of `mean_interval` of two values or more."""
    count = len(values)
    centre = math.fsum(values) / count
    width = _student_factor(count) * math.dist(values, [centre] * count)
    return centre - width, centre + width


@lru_cache(maxsize=256)
def _student_factor(count: int) -> float:
    """Return half the width of the interval, in units of the distance of `count` values from their mean."""
    from scipy.special import stdtrit  # see mean_interval

    return float(stdtrit(count - 1, (1 + _LEVEL) / 2)) / math.sqrt((count - 1) * count)
