"""Many results come to one status, and the worst of them are told."""

from __future__ import annotations

from typing import Any

from robust_kbench.checking.results import position_in, status_of, worst_of_each
from robust_kbench.schema.case import Case, Suite
from robust_kbench.schema.record import CaseResult, Status


def result(**more: Any) -> CaseResult:
    fields = {
        "axes": {"rows": 2}, "dtype": "float32", "layout": "contiguous", "distribution": "normal", "seed": 1,
        "role": "check", "status": "passed",
    }  # fmt: skip
    return CaseResult(**{**fields, **more})


def test_a_crash_is_told_before_a_wrong_answer() -> None:
    results = [result(status="incorrect", reason="off by 3"), result(status="crashed", reason="signal 11"), result()]
    assert status_of(results, ["float32"]) == (Status.CRASHED, "signal 11")


def test_a_layout_that_was_never_checked_is_unsupported_even_if_others_passed() -> None:
    results = [result(), result(layout="transposed", status="not_checked", reason="no such tensor")]
    assert status_of(results, ["float32"]) == (Status.UNSUPPORTED, "float32: no such tensor")


def test_one_checked_case_for_each_dtype_and_layout_is_enough() -> None:
    results = [result(), result(status="not_checked", reason="not run"), result(dtype="float16")]
    assert status_of(results, ["float32", "float16"]) == (Status.PASSED, "")


def test_of_each_dtype_and_distribution_the_one_nearest_to_its_limit_is_kept_and_a_failure_before_all() -> None:
    near, far = result(errors=(0.9,), limits=(1.0,)), result(errors=(0.1,), limits=(1.0,))
    failed = result(dtype="float16", status="incorrect", errors=(0.2,), limits=(1.0,))
    passed = result(dtype="float16", errors=(0.8,), limits=(1.0,))
    assert worst_of_each([far, near, failed, passed]) == [near, failed]


def test_results_are_sorted_as_their_cases_were_drawn() -> None:
    cases = [Case(axes={"rows": rows}, dtype="float32", seed=rows) for rows in (5, 3, 9)]
    results = [result(axes={"rows": rows}, seed=rows) for rows in (3, 9, 5)]
    suite = Suite(seed=0, checked=tuple(cases), timed=())
    assert [each.axes["rows"] for each in sorted(results, key=position_in(suite))] == [5, 3, 9]
