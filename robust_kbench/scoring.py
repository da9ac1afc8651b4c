"""From the raw samples of a record to speedups with intervals: derived on read, never stored."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from robust_kbench.schema.record import CANDIDATE, CONTROL, EAGER, RunRecord, Session, Timing, decode_samples
from robust_kbench.schema.task import FloatDType
from robust_kbench.timing import statistics
from robust_kbench.timing.statistics import Ratio, Verdict

_MIN_MARGIN = 0.005
_UNKNOWN_MARGIN = 0.02  # where no control ran
_HANDSHAKE_US = 0.2  # to and fro of the judge's clock: what differs by less is the same


@dataclass(frozen=True)
class CaseScore:
    """Speed on one timed binding. `fastest` names the baseline, or several joined by +, that `speedup` is against.

    `sessions` are the log ratios against it, round by round. `margin` is the relative difference that counts as none.
    `hot_us` is the candidate's time on a warm cache, where that was measured; it is no part of any score.
    """

    axes: dict[str, int]
    dtype: FloatDType
    fastest: str
    speedup: Ratio
    speedups: dict[str, Ratio]
    medians_us: dict[str, float]
    sessions: tuple[tuple[float, ...], ...]
    margin: float
    floor_us: float | None = None
    hot_us: float | None = None

    @property
    def verdict(self) -> Verdict:
        """Faster, same, slower, or ambiguous."""
        return self.speedup.verdict(self.margin)

    @property
    def floor_share(self) -> float | None:
        """The floor in units of the candidate's median time: 1 would be as fast as the device allows."""
        return None if self.floor_us is None else self.floor_us / self.medians_us[CANDIDATE]


@dataclass(frozen=True)
class DtypeScore:
    """Speed over all timed bindings of one dtype: geometric means, and the single worst case."""

    dtype: FloatDType
    cases: tuple[CaseScore, ...]

    @property
    def speedup(self) -> Ratio:
        """Against the fastest baseline of each case."""
        return statistics.geometric_mean([case.sessions for case in self.cases])

    @property
    def margin(self) -> float:
        """The largest of the cases'."""
        return max(case.margin for case in self.cases)

    @property
    def verdict(self) -> Verdict:
        """Of the geometric mean."""
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
        """Geometric mean against one named baseline, where every case has it."""
        values = [case.speedups[baseline].value for case in self.cases if baseline in case.speedups]
        return geometric_mean(values) if len(values) == len(self.cases) else None

    def median_us(self, contestant: str) -> float | None:
        """Geometric mean over the cases of a contestant's median time."""
        times = [case.medians_us[contestant] for case in self.cases if contestant in case.medians_us]
        return geometric_mean(times) if times and len(times) == len(self.cases) else None

    @property
    def hot_us(self) -> float | None:
        """Geometric mean over the cases of the candidate's time on a warm cache, where all were measured."""
        times = [case.hot_us for case in self.cases if case.hot_us is not None]
        return geometric_mean(times) if len(times) == len(self.cases) else None

    @property
    def floor_share(self) -> float | None:
        """Geometric mean over the cases, where every floor is known."""
        shares = [case.floor_share for case in self.cases if case.floor_share is not None]
        return geometric_mean(shares) if len(shares) == len(self.cases) else None


def score(record: RunRecord) -> dict[FloatDType, DtypeScore]:
    """The scores of a record that was timed, by dtype."""
    floor = noise_floor(record.timings)
    cases = [score_case(timing, floor) for timing in record.timings]
    dtypes = dict.fromkeys(case.dtype for case in cases)
    return {dtype: DtypeScore(dtype, tuple(case for case in cases if case.dtype == dtype)) for dtype in dtypes}


def noise_floor(timings: Sequence[Timing]) -> float | None:
    """The largest relative difference that eager PyTorch showed from a second worker of itself; None without any."""
    differences = []
    for timing in timings:
        samples = [_decode(session) for session in timing.sessions]
        if all(CONTROL in each and EAGER in each for each in samples):
            logs = [statistics.log_ratios(each[EAGER], each[CONTROL]) for each in samples]
            differences.append(math.expm1(abs(statistics.median([statistics.median(each) for each in logs]))))
    return max(differences, default=None)


def score_case(timing: Timing, noise: float | None = None) -> CaseScore:
    """Score each session against the baseline that was fastest in all the others.

    A choice and a score from the same samples would favour whichever baseline was lucky, and a choice from one session
    alone would let an unlucky one flatter the candidate. A single session (tier quick, never ranked) has to do both.
    `noise`: see `noise_floor`.
    """
    samples = [_decode(session) for session in timing.sessions]
    baselines = [
        name for name in samples[0] if name not in (CANDIDATE, CONTROL) and all(name in each for each in samples)
    ]
    chosen = [_fastest(samples[:i] + samples[i + 1 :] or samples, baselines) for i in range(len(samples))]
    sessions = [_logs(each, name) for each, name in zip(samples, chosen, strict=True)]
    medians_us = {
        name: statistics.median([t for each in samples for t in each[name]]) / 1e3 for name in (CANDIDATE, *baselines)
    }
    return CaseScore(
        axes=timing.axes,
        dtype=timing.dtype,
        fastest="+".join(sorted(set(chosen))),
        speedup=statistics.ratio(sessions),
        speedups={name: statistics.ratio([_logs(each, name) for each in samples]) for name in baselines},
        medians_us=medians_us,
        sessions=tuple(map(tuple, sessions)),
        margin=_margin(noise, medians_us[CANDIDATE]),
        floor_us=timing.floor_us,
        hot_us=next((s.hot_us[CANDIDATE] for s in timing.sessions if CANDIDATE in s.hot_us), None),
    )


def _margin(noise: float | None, median_us: float) -> float:
    least = max(_MIN_MARGIN, _HANDSHAKE_US / median_us)
    return max(least, _UNKNOWN_MARGIN if noise is None else noise)


def _fastest(sessions: Sequence[dict[str, list[int]]], baselines: Sequence[str]) -> str:
    def typical(name: str) -> float:
        return statistics.median([statistics.median(session[name]) for session in sessions])

    return min(baselines, key=typical)


def _decode(session: Session) -> dict[str, list[int]]:
    return {name: decode_samples(text) for name, text in session.samples.items()}


def _logs(samples: dict[str, list[int]], baseline: str) -> list[float]:
    return statistics.log_ratios(samples[baseline], samples[CANDIDATE])


def geometric_mean(values: Sequence[float]) -> float:
    """Of positive numbers, at least one."""
    return math.exp(sum(math.log(value) for value in values) / len(values))
