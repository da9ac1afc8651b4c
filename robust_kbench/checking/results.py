"""Summary of many results: one status, an order to tell them in, and the ones that are worth telling."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from robust_kbench.schema.case import Case, Suite
from robust_kbench.schema.record import CaseResult, Status
from robust_kbench.schema.task import FloatDType


def status_of(results: Sequence[CaseResult], dtypes: Sequence[FloatDType]) -> tuple[Status, str]:
    """Return the first failure among judged cases, with its reason.

    Without a failure, every dtype and layout must have passed. One that has not is unsupported.
    """
    for status in (Status.CRASHED, Status.TIMED_OUT, Status.INCORRECT):
        for result in results:
            if result.status == status.value:
                return status, result.reason
    for dtype in dtypes:
        mine = [result for result in results if result.dtype == dtype]
        for layout in dict.fromkeys(result.layout for result in mine):
            group = [result for result in mine if result.layout == layout]
            if not any(result.status == "passed" for result in group):
                return Status.UNSUPPORTED, f"{dtype}: {group[0].reason}"
    return Status.PASSED, ""


def position_in(suite: Suite) -> Callable[[CaseResult], int]:
    """Make a key that sorts results in the order in which the suite has their cases."""
    order = {_identity(case): number for number, case in enumerate(suite.checked)}
    return lambda result: order[_identity(result)]


def worst_of_each(results: Sequence[CaseResult]) -> list[CaseResult]:
    """Select one result per dtype and distribution: the one nearest to its limit, or the failure."""
    worst: dict[tuple[str, str], CaseResult] = {}
    for result in results:
        key = (result.dtype, result.distribution)
        if key not in worst or _badness(result) > _badness(worst[key]):
            worst[key] = result
    return list(worst.values())


def _identity(case: Case | CaseResult) -> tuple[object, ...]:
    return (*case.axes.values(), case.dtype, case.layout, case.distribution, case.probe, case.seed)


def _badness(result: CaseResult) -> tuple[bool, float]:
    return result.status != "passed", result.error_ratio or 0.0
