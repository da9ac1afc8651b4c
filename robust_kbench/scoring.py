"""Scores of a record: speedups with intervals from its raw samples, derived on read, never stored."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from robust_kbench.schema.record import CANDIDATE, EAGER, REFERENCE, RunRecord, Timing
from robust_kbench.schema.task import FloatDType
from robust_kbench.timing import calibration, statistics
from robust_kbench.timing.calibration import RESOLVED
from robust_kbench.timing.rounds import Measured, measured
from robust_kbench.timing.statistics import Ratio, Verdict, middle

_MIN_MARGIN = 0.005
_UNKNOWN_MARGIN = 0.02  # where no control ran
_HANDSHAKE_US = 0.2  # to and fro of the judge's clock: what differs by less is the same
_STEP_US = 0.001  # of the clock: no median is below it


@dataclass(frozen=True)
class CaseScore:
    """Speed on one timed binding. `fastest` names the baseline, or several joined by +, that `speedup` is against.

    `margin` is the relative difference that counts as none. `hot_us` is the candidate's time on a warm cache, where
    that was measured; it is no part of any score. `chosen` names the baseline that each session is scored against.
    """

    axes: dict[str, int]
    dtype: FloatDType
    fastest: str
    speedup: Ratio
    speedups: dict[str, Ratio]
    medians_us: dict[str, float]
    margin: float
    chosen: tuple[str, ...]
    measured: Measured = field(repr=False, compare=False)
    floor_us: float | None = None
    hot_us: float | None = None
    resolution_us: float = _HANDSHAKE_US

    @property
    def is_resolved(self) -> bool:
        """True if it takes at least ten times the resolution of a CUDA device's clock; else it is not ranked.

        A processor's clock is the judge's own, and the margin allows for the little that it adds.
        """
        return self.resolution_us <= _HANDSHAKE_US or self.medians_us[CANDIDATE] >= RESOLVED * self.resolution_us

    @property
    def charge(self) -> float:
        """Factor of the candidate's times, where a few of its calls take far longer than the others; 1: no charge."""
        return self.measured.charge

    @property
    def sessions(self) -> tuple[tuple[float, ...], ...]:
        """Log ratios against `fastest`, round by round in each session."""
        return tuple(tuple(self.measured.rounds(name, number)) for number, name in enumerate(self.chosen))

    @property
    def medians(self) -> list[float]:
        """Medians of the log ratios, one for each session."""
        return _medians(self.measured, self.chosen)

    @property
    def verdict(self) -> Verdict:
        """Verdict on the speedup: faster, same, slower, or ambiguous."""
        return self.speedup.verdict(self.margin)

    @property
    def over_plain(self) -> Ratio | None:
        """Speedup over plain PyTorch: its operator or the decomposition, whichever is faster; None without eager."""
        plain = [self.speedups[name] for name in (EAGER, REFERENCE) if name in self.speedups]
        return min(plain, key=lambda each: each.value) if EAGER in self.speedups else None

    @property
    def floor_share(self) -> float | None:
        """Floor in units of the candidate's median time: 1 would be as fast as the device allows.

        None where no floor is known; a floor of zero says nothing.
        """
        return self.floor_us / self.medians_us[CANDIDATE] if self.floor_us and self.floor_us > 0 else None


@dataclass(frozen=True)
class DtypeScore:
    """Speed over all timed bindings of one dtype: geometric means, and the single worst case."""

    dtype: FloatDType
    cases: tuple[CaseScore, ...]

    @property
    def is_resolved(self) -> bool:
        """True if the clock resolves any of the cases. Cases that it does not resolve never count beside those."""
        return any(case.is_resolved for case in self.cases)

    @property
    def counted(self) -> tuple[CaseScore, ...]:
        """Cases that the speedup is a mean of."""
        return tuple(case for case in self.cases if case.is_resolved) or self.cases

    @property
    def speedup(self) -> Ratio:
        """Speedup over the fastest baseline of each case that counts, as a geometric mean."""
        return statistics.geometric_mean_of(
            [case.speedup for case in self.counted], [case.medians for case in self.counted]
        )

    @property
    def margin(self) -> float:
        """Largest margin of the cases that count."""
        return max(case.margin for case in self.counted)

    @property
    def verdict(self) -> Verdict:
        """Verdict on the geometric mean of the cases that count."""
        return self.speedup.verdict(self.margin)

    @property
    def worst(self) -> CaseScore:
        """The case with the smallest speedup."""
        return min(self.cases, key=lambda case: case.speedup.value)

    @property
    def fastest(self) -> str:
        """The baseline, or several joined by +, that the speedup is against."""
        return "+".join(sorted({name for case in self.cases for name in case.fastest.split("+")}))

    def against(self, baseline: str) -> float | None:
        """Return the geometric mean against one named baseline; None unless every case has it."""
        found = self.ratio_against(baseline)
        return found.value if found else None

    def ratio_against(self, baseline: str) -> Ratio | None:
        """Return the geometric mean against one named baseline with its interval; None unless every case has it."""
        if not all(baseline in case.speedups for case in self.cases):
            return None
        ratios = [case.speedups[baseline] for case in self.cases]
        return statistics.geometric_mean_of(ratios, [case.measured.against[baseline].medians for case in self.cases])

    def median_us(self, contestant: str) -> float | None:
        """Compute the geometric mean over the cases of a contestant's median time; None unless every case has it."""
        times = [case.medians_us[contestant] for case in self.cases if contestant in case.medians_us]
        return geometric_mean(times) if times and len(times) == len(self.cases) else None

    @property
    def hot_us(self) -> float | None:
        """Geometric mean over the cases of the candidate's time on a warm cache, where all were measured."""
        times = [case.hot_us for case in self.cases if case.hot_us is not None and case.hot_us > 0]
        return geometric_mean(times) if len(times) == len(self.cases) else None

    @property
    def floor_share(self) -> float | None:
        """Geometric mean of the floor shares of all cases; None unless every floor is known."""
        shares = [case.floor_share for case in self.cases if case.floor_share is not None]
        return geometric_mean(shares) if len(shares) == len(self.cases) else None


def score(record: RunRecord, found: Sequence[Measured] | None = None) -> dict[FloatDType, DtypeScore]:
    """Score a record that was timed, by dtype. Raises ValueError where its samples cannot be scored.

    `found` saves time: the result of `measured` for its timings, see `measured_together`.
    """
    found = measured(record.timings) if found is None else found
    noise = _noise(found)
    cases = [_scored(timing, each, noise) for timing, each in zip(record.timings, found, strict=True)]
    dtypes = dict.fromkeys(case.dtype for case in cases)
    return {dtype: DtypeScore(dtype, tuple(case for case in cases if case.dtype == dtype)) for dtype in dtypes}


def noise_floor(timings: Sequence[Timing]) -> float | None:
    """Return the largest relative difference of eager PyTorch from a second worker of itself; None without any."""
    return _noise(measured(timings))


def _noise(cases: Sequence[Measured]) -> float | None:
    return max((math.expm1(abs(middle(case.control))) for case in cases if case.control), default=None)


def score_case(timing: Timing, noise: float | None = None) -> CaseScore:
    """Score each session against the baseline that was fastest in all the others.

    A choice and a score from the same samples would favour a lucky baseline. A choice from one session alone would let
    an unlucky one flatter the candidate. A single session (tier quick, never ranked) has to do both. `noise`: see
    `noise_floor`.
    """
    (found,) = measured([timing])
    return _scored(timing, found, noise)


def _scored(timing: Timing, case: Measured, noise: float | None) -> CaseScore:
    speedups = {name: statistics.ratio_of(each.medians, each.bounds) for name, each in case.against.items()}
    medians_us = {name: median or _STEP_US for name, median in case.medians_us.items()}
    chosen = _chosen(case)
    return CaseScore(
        axes=timing.axes,
        dtype=timing.dtype,
        fastest="+".join(sorted(set(chosen))),
        speedup=speedups[chosen[0]] if len(set(chosen)) == 1 else _mixed(case, chosen),
        speedups=speedups,
        medians_us=medians_us,
        margin=_margin(noise, medians_us[CANDIDATE], resolution_us(timing)),
        chosen=chosen,
        measured=case,
        floor_us=timing.floor_us,
        resolution_us=resolution_us(timing),
        hot_us=next((s.hot_us[CANDIDATE] for s in timing.sessions if CANDIDATE in s.hot_us), None),
    )


def _medians(case: Measured, chosen: Sequence[str]) -> list[float]:
    return [case.against[name].medians[number] for number, name in enumerate(chosen)]


def _mixed(case: Measured, chosen: Sequence[str]) -> Ratio:
    """Return the speedup over sessions that are not all against the same baseline."""
    logs = [log for number, name in enumerate(chosen) for log in case.rounds(name, number)]
    low, _, high = statistics.median_interval(logs)
    return statistics.ratio_of(_medians(case, chosen), (low, high))


def _chosen(case: Measured) -> tuple[str, ...]:
    """Choose for each session the baseline that was fastest in all others; for a single session, in itself."""
    times, count = case.sessions_ns, len(case.counts)
    slowest, first = min((max(times[name]), name) for name in case.baselines)
    if all(slowest < min(times[name]) for name in case.baselines if name != first):
        return (first,) * count  # the fastest in any choice of sessions

    def typical(name: str, left_out: int) -> float:
        return middle(times[name][:left_out] + times[name][left_out + 1 :] or times[name])

    return tuple(min(case.baselines, key=lambda name: typical(name, number)) for number in range(count))


def resolution_us(timing: Timing) -> float:
    """Return the resolution of the judge's clock, in us.

    On a CUDA device the constant in it differs from worker to worker.
    """
    sessions = timing.sessions
    if told := [each.clock_resolution_ns for each in sessions if each.clock_resolution_ns is not None]:
        return calibration.resolution_us(len(sessions), middle(told) / 1e3)
    if all(session.clock_spread_ns is None for session in sessions):
        return _HANDSHAKE_US
    return calibration.resolution_us(len(sessions))  # of a record from before sessions told it


def _margin(noise: float | None, median_us: float, resolution_us: float) -> float:
    least = max(_MIN_MARGIN, resolution_us / median_us)
    return max(least, _UNKNOWN_MARGIN if noise is None else noise)


def geometric_mean(values: Sequence[float]) -> float:
    """Compute the geometric mean of positive numbers, at least one."""
    return math.exp(sum(math.log(value) for value in values) / len(values))
