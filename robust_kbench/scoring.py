"""From the raw samples of a record to speedups with intervals: derived on read, never stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from robust_kbench.schema.record import RunRecord, Session, Timing, decode_samples
from robust_kbench.schema.task import FloatDType
from robust_kbench.timing import statistics
from robust_kbench.timing.statistics import Ratio

_CANDIDATE = "candidate"


@dataclass(frozen=True)
class CaseScore:
    """Speed on one timed binding. `fastest` names the baseline, or several joined by +, that `speedup` is against."""

    axes: dict[str, int]
    dtype: FloatDType
    fastest: str
    speedup: Ratio
    speedups: dict[str, Ratio]
    medians_us: dict[str, float]


@dataclass(frozen=True)
class DtypeScore:
    """Speed over all timed bindings of one dtype: geometric means, and the single worst case."""

    dtype: FloatDType
    cases: tuple[CaseScore, ...]

    @property
    def speedup(self) -> Ratio:
        """Against the fastest baseline of each case."""
        return statistics.geometric_mean([case.speedup for case in self.cases])

    @property
    def fastest(self) -> str:
        """The baseline, or several joined by +, that the speedup is against."""
        return "+".join(sorted({name for case in self.cases for name in case.fastest.split("+")}))

    def against(self, baseline: str) -> Ratio | None:
        """Against one named baseline, where every case has it."""
        ratios = [case.speedups[baseline] for case in self.cases if baseline in case.speedups]
        return statistics.geometric_mean(ratios) if len(ratios) == len(self.cases) else None

    def median_us(self, contestant: str) -> float | None:
        """Geometric mean over the cases of a contestant's median time."""
        times = [case.medians_us[contestant] for case in self.cases if contestant in case.medians_us]
        whole = len(times) == len(self.cases)
        return statistics.geometric_mean([Ratio(t, t, t) for t in times]).value if whole and times else None


def score(record: RunRecord) -> dict[FloatDType, DtypeScore]:
    """The scores of a record that was timed, by dtype."""
    cases = [score_case(timing) for timing in record.timings]
    dtypes = dict.fromkeys(case.dtype for case in cases)
    return {dtype: DtypeScore(dtype, tuple(case for case in cases if case.dtype == dtype)) for dtype in dtypes}


def score_case(timing: Timing) -> CaseScore:
    """Score each session against the baseline that was fastest in all the others.

    A choice and a score from the same samples would favour whichever baseline was lucky, and a choice from one session
    alone would let an unlucky one flatter the candidate. A single session (tier quick, never ranked) has to do both.
    """
    samples = [_decode(session) for session in timing.sessions]
    baselines = [name for name in samples[0] if name != _CANDIDATE and all(name in s for s in samples)]
    chosen = [_fastest(samples[:i] + samples[i + 1 :] or samples, baselines) for i in range(len(samples))]
    logs = [log for s, name in zip(samples, chosen, strict=True) for log in _logs([s], name)]
    return CaseScore(
        axes=timing.axes,
        dtype=timing.dtype,
        fastest="+".join(sorted(set(chosen))),
        speedup=statistics.ratio(logs),
        speedups={name: statistics.ratio(_logs(samples, name)) for name in baselines},
        medians_us={name: _median([t for s in samples for t in s[name]]) / 1e3 for name in (_CANDIDATE, *baselines)},
    )


def _fastest(sessions: Sequence[dict[str, list[int]]], baselines: Sequence[str]) -> str:
    return min(baselines, key=lambda name: _median([_median(session[name]) for session in sessions]))


def _decode(session: Session) -> dict[str, list[int]]:
    return {name: decode_samples(text) for name, text in session.samples.items()}


def _logs(sessions: Sequence[dict[str, list[int]]], baseline: str) -> list[float]:
    return [log for s in sessions for log in statistics.log_ratios(s[baseline], s[_CANDIDATE])]


def _median(values: Sequence[float]) -> float:
    return statistics.median_interval(values)[1]
