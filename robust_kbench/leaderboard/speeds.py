"""Speed and correctness of a record, in figures that are few enough to be kept for every record."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain
from operator import truediv
from typing import NamedTuple

from robust_kbench.leaderboard import roofline
from robust_kbench.schema.record import CANDIDATE, EAGER, CaseResult, Metrics, RunRecord
from robust_kbench.scoring import CaseScore, DtypeScore, score
from robust_kbench.timing.rounds import Measured
from robust_kbench.timing.statistics import Ratio

_COMPILE = "compile"


class Binding(NamedTuple):
    """A timed case. `medians_us` are the candidate's and its baselines'; `speedup` is over `fastest`, see scoring."""

    axes: dict[str, int]
    dtype: str
    fastest: str
    speedup: Ratio
    speedups: dict[str, Ratio]
    medians_us: dict[str, float]
    floor_us: float | None
    hot_us: float | None
    margin: float
    verdict: str
    floor_share: float | None
    sol_score: float | None


class DtypeLine(NamedTuple):
    """A dtype that a record declares: its judged cases, and its speed where that was measured."""

    dtype: str
    cases_passed: int = 0
    cases_drawn: int = 0
    worst_error_ratio: float | None = None
    verdict: str | None = None
    speedup: Ratio | None = None
    margin: float | None = None
    worst_speedup: float | None = None
    fastest: str | None = None
    vs_eager: Ratio | None = None
    vs_compile: Ratio | None = None
    median_us: float | None = None
    baseline_median_us: float | None = None
    hot_us: float | None = None
    floor_share: float | None = None
    sol_score: float | None = None
    is_resolved: bool = True


class Speeds(NamedTuple):
    """Figures of a record. `damage` says why samples could not be scored, if there are any."""

    lines: dict[str, DtypeLine]
    bindings: tuple[Binding, ...]
    damage: str = ""


def speeds(record: RunRecord, found: Sequence[Measured] | None = None) -> Speeds:
    """Return the figures of a record, whatever its samples are: an author may want them to be unreadable.

    `found`: see `score`.
    """
    lines = _counted(record)
    try:
        scores = score(record, found)
    except (ValueError, ArithmeticError) as error:
        return Speeds(lines, (), f"its samples cannot be scored: {error}")
    bindings: list[Binding] = []
    for dtype, scored in scores.items():
        mine = [_binding(case) for case in scored.cases]
        bindings += mine
        if dtype in lines:
            lines[dtype] = _timed(lines[dtype], scored, mine)
    return Speeds(lines, tuple(bindings))


def _counted(record: RunRecord) -> dict[str, DtypeLine]:
    cases: dict[str, list[CaseResult]] = {dtype: [] for dtype in record.dtypes}
    for case in record.cases:
        if case.dtype in cases:
            cases[case.dtype].append(case)
    return {dtype: _judged(dtype, mine) for dtype, mine in cases.items()}


def _judged(dtype: str, cases: Sequence[CaseResult]) -> DtypeLine:
    passed = [case.status for case in cases].count("passed")
    errors, limits = [case.errors or () for case in cases], [case.limits or () for case in cases]
    return DtypeLine(dtype, passed, len(cases), _worst(errors, limits))


def _worst(errors: Sequence[Metrics], limits: Sequence[Metrics]) -> float | None:
    """Return the largest `CaseResult.error_ratio` that is a number; None if there is none.

    The limits of a foreign record may be anything.
    """
    if list(map(len, errors)) == list(map(len, limits)):
        try:  # all at once, for there are hundreds
            worst = max(map(truediv, chain.from_iterable(errors), chain.from_iterable(limits)), default=None)
        except ZeroDivisionError:
            worst = math.inf
        if worst is None or math.isfinite(worst):
            return worst
    ratios = [_worst([some], [other]) for some, other in zip(errors, limits, strict=True)] if len(errors) > 1 else []
    return max((ratio for ratio in ratios if ratio is not None), default=None)


def _binding(case: CaseScore) -> Binding:
    time_us, floor_us = case.medians_us[CANDIDATE], roofline.plausible(case.floor_us)
    # By the paired estimate, in which drift cancels: the score is 1/2 exactly where the speedup is 1.
    baseline_us = case.speedup.value * time_us
    return Binding(
        axes=case.axes,
        dtype=case.dtype,
        fastest=case.fastest,
        speedup=case.speedup,
        speedups=case.speedups,
        medians_us=case.medians_us,
        floor_us=floor_us,
        hot_us=roofline.plausible(case.hot_us),
        margin=case.margin,
        verdict=case.verdict.value,
        floor_share=roofline.share(time_us, floor_us),
        sol_score=roofline.sol_score(time_us, baseline_us, floor_us),
    )


def _timed(line: DtypeLine, scored: DtypeScore, bindings: Sequence[Binding]) -> DtypeLine:
    speedup, margin, fastest = scored.speedup, scored.margin, scored.fastest
    return line._replace(
        is_resolved=scored.is_resolved,
        verdict=speedup.verdict(margin).value,
        speedup=speedup,
        margin=margin,
        worst_speedup=min(each.speedup.value for each in bindings),
        fastest=fastest,
        vs_eager=scored.ratio_against(EAGER),
        vs_compile=scored.ratio_against(_COMPILE),
        median_us=scored.median_us(CANDIDATE),
        baseline_median_us=scored.median_us(fastest) if "+" not in fastest else None,
        hot_us=roofline.geometric_mean([each.hot_us for each in bindings]),
        floor_share=roofline.geometric_mean([each.floor_share for each in bindings]),
        sol_score=roofline.mean([each.sol_score for each in bindings]),
    )
