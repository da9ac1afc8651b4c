"""Judged cases of a record, grouped so that a person finds the failed ones before all the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from robust_kbench.schema.record import CaseResult

_MAX_FAILING = 40


@dataclass(frozen=True)
class CaseGroup:
    """Group of cases of one dtype, layout and distribution (or probe).

    `worst`: largest error in units of its limit.
    """

    dtype: str
    layout: str
    values: str
    drawn: int
    passed: int
    not_checked: int
    worst: float | None
    outcome: str

    @property
    def failed(self) -> int:
        """Number of cases that are neither right nor left out."""
        return self.drawn - self.passed - self.not_checked


@dataclass(frozen=True)
class Failing:
    """Case that is not right, in words."""

    case: CaseResult
    values: str
    axes: str
    worst: float | None


def groups(cases: Sequence[CaseResult]) -> list[CaseGroup]:
    """Group the cases: failing groups first, then those with unchecked cases, each in order of their names."""
    found: dict[tuple[str, str, str], list[CaseResult]] = {}
    for case in cases:
        found.setdefault((case.dtype, case.layout, _values(case)), []).append(case)
    made = [_group(key, mine) for key, mine in found.items()]
    return sorted(made, key=lambda each: (not each.failed, not each.not_checked, each.dtype, each.layout, each.values))


def _group(key: tuple[str, str, str], cases: Sequence[CaseResult]) -> CaseGroup:
    passed = sum(case.status == "passed" for case in cases)
    left_out = sum(case.status == "not_checked" for case in cases)
    ratios = [ratio for case in cases if (ratio := error_ratio(case)) is not None]
    wrong = [case.status for case in cases if case.status not in ("passed", "not_checked")]
    outcome = wrong[0] if wrong else "passed" if passed else "not_checked"
    return CaseGroup(*key, len(cases), passed, left_out, max(ratios, default=None), outcome)


def failing(cases: Sequence[CaseResult]) -> list[Failing]:
    """Return the first of the wrong cases, as many as one reads."""
    wrong = [case for case in cases if case.status not in ("passed", "not_checked")]
    return [Failing(case, _values(case), bound(case.axes), error_ratio(case)) for case in wrong[:_MAX_FAILING]]


def bound(axes: dict[str, int]) -> str:
    """Return a binding of axes in words."""
    return " ".join(f"{name}={size}" for name, size in axes.items())


def error_ratio(case: CaseResult) -> float | None:
    """Return the error ratio of a case; None if its figures make no sense, as in a record of a stranger."""
    try:
        return case.error_ratio
    except (ArithmeticError, ValueError):
        return None


def _values(case: CaseResult) -> str:
    return case.distribution if case.probe is None else f"probe {case.probe}"
