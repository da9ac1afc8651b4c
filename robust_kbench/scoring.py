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
    """Speed on one timed binding. `fastest` names the baseline that `speedup` is against."""

    axes: dict[str, int]
    dtype: FloatDType
    fastest: str
    speedups: dict[str, Ratio]
    medians_us: dict[str, float]

    @property
    def speedup(self) -> Ratio:
        """Against the fastest baseline."""
        return self.speedups[self.fastest]


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
        return "+".join(sorted({case.fastest for case in self.cases}))

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
    """Choose the fastest baseline on the first session and score it on the others, so that luck is not picked.

    With a single session (tier quick, never ranked) the choice and the score share it.
    """
    samples = [_decode(session) for session in timing.sessions]
    baselines = [name for name in samples[0] if name != _CANDIDATE and all(name in s for s in samples)]
    fastest = min(baselines, key=lambda name: _median(samples[0][name]))
    scored = samples[1:] or samples
    speedups = {name: statistics.ratio(_logs(scored, name)) for name in baselines}
    medians = {name: _median([t for s in scored for t in s[name]]) / 1e3 for name in (_CANDIDATE, *baselines)}
    return CaseScore(timing.axes, timing.dtype, fastest, speedups, medians)


def _decode(session: Session) -> dict[str, list[int]]:
    return {name: decode_samples(text) for name, text in session.samples.items()}


def _logs(sessions: Sequence[dict[str, list[int]]], baseline: str) -> list[float]:
    return [log for s in sessions for log in statistics.log_ratios(s[baseline], s[_CANDIDATE])]


def _median(values: Sequence[float]) -> float:
    return statistics.median_interval(values)[1]
