"""Defects that the emulator's checker saw become findings that an author can act on."""

from __future__ import annotations

from robust_kbench.guards.undefined_behaviour import inspect
from robust_kbench.schema.case import Case
from robust_kbench.schema.defect import Defect
from robust_kbench.schema.observation import Observation

CASE = Case(axes={"rows": 2, "cols": 3}, dtype="float32", seed=1)
RACE = Defect(
    "race_shared", "a write of 4 bytes of __shared__ 's' without order after a read by a thread of another warp",
    kernel="reduce", file="kernel.cu", line=12, block=(0, 1, 0), thread=(5, 0, 0), count=7,
    other=" at kernel.cu:10 by block (0, 1, 0), thread (37, 0, 0)",
)  # fmt: skip


def seen(*defects: Defect) -> list[Observation]:
    return [Observation(CASE, "returned", defects=defects)]


def test_a_race_is_rejected_with_both_places_and_both_threads() -> None:
    (finding,) = inspect(seen(RACE))
    assert (finding.guard, finding.severity, finding.case) == ("undefined_behaviour", "reject", str(CASE))
    assert finding.message == (
        "kernel.cu:12: race_shared: a write of 4 bytes of __shared__ 's' without order after a read by a thread of "
        "another warp at kernel.cu:10 by block (0, 1, 0), thread (37, 0, 0) (block (0, 1, 0), thread (5, 0, 0))"
    )
    assert finding.evidence["line"] == 12
    assert finding.evidence["case_seed"] == 1


def test_the_same_line_is_told_once_however_many_cases_show_it() -> None:
    assert len(list(inspect(seen(RACE) + seen(RACE)))) == 1


def test_another_line_is_told_too() -> None:
    assert len(list(inspect(seen(RACE, Defect("race_shared", "…", file="kernel.cu", line=13))))) == 2


def test_a_shuffle_from_an_inactive_lane_is_a_warning() -> None:
    (finding,) = inspect(seen(Defect("inactive_lane", "reads lane 16, which takes no part", file="k.cu", line=3)))
    assert finding.severity == "warn"


def test_a_kernel_without_an_end_is_a_case_that_timed_out_and_no_finding() -> None:
    assert list(inspect(seen(Defect("work_limit", "did not end")))) == []


def test_a_clean_run_has_no_finding() -> None:
    assert list(inspect(seen())) == []


def test_findings_are_bounded_in_number_and_length() -> None:
    many = [Defect("race_global", "x" * 2000, file="kernel.cu", line=line) for line in range(1, 100)]
    found = list(inspect(seen(*many)))
    assert len(found) == 8
    assert max(len(finding.message) for finding in found) == 500
