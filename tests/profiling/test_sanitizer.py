from __future__ import annotations

import pytest
from samples import CLEAN, MEMCHECK, RACECHECK

from robust_kbench.profiling import sanitizer
from robust_kbench.profiling.device_tools import Outcome


def test_a_finding_says_what_and_where_and_which_thread() -> None:
    (finding,) = sanitizer.parse(MEMCHECK, "memcheck")
    assert finding.message == (
        "Invalid __global__ write of size 4 bytes; "
        "at rmsnorm_kernel(const float *, float *, long)+0x70 in kernel.cu:12; "
        "by thread (31,0,0) in block (2,0,0); Access to 0x7f0000000400 is out of bounds"
    )
    assert (finding.tool, finding.count) == ("memcheck", 2)


def test_a_race_has_both_its_ends() -> None:
    (finding,) = sanitizer.parse(RACECHECK, "racecheck")
    assert finding.message.startswith(
        "Error: Race reported between Write access at sum(float *)+0x50 in kernel.cu:51; "
    )
    assert "and Read access at sum(float *)+0x90 in kernel.cu:52" in finding.message


def test_a_clean_report_has_no_findings_and_is_no_failure() -> None:
    assert sanitizer.parse(CLEAN, "memcheck") == []
    assert sanitizer.failure(Outcome(0, "", CLEAN)) is None
    assert sanitizer.failure(Outcome(1, "", MEMCHECK)) is None


@pytest.mark.parametrize(
    ("outcome", "reason"),
    [
        (Outcome(124, "", CLEAN), "did not finish in time; the binding may be too large for it"),
        (
            Outcome(1, "", "========= COMPUTE-SANITIZER\n========= Error: Device not supported\n"),
            "ended with code 1 and no summary: Error: Device not supported",
        ),
        (Outcome(127, "sh: not found\n", ""), "ended with code 127 and no summary: sh: not found"),
        (Outcome(1, "", ""), "ended with code 1 and no summary: it said nothing"),
        (
            Outcome(1, "", f"{CLEAN}========= Internal Sanitizer Error: The Sanitizer encountered an error\n"),
            "ended with code 1 and no summary: Internal Sanitizer Error: The Sanitizer encountered an error",
        ),
    ],
    ids=["time", "no device", "no program", "silent", "its own error"],
)
def test_a_tool_that_came_to_no_result_is_never_clean(outcome: Outcome, reason: str) -> None:
    assert sanitizer.failure(outcome) == reason


def test_messages_cannot_move_the_cursor() -> None:
    (finding,) = sanitizer.parse("========= \x1b[2JInvalid\n=========     at f\n", "memcheck")
    assert finding.message == " [2JInvalid; at f"


def test_a_flood_of_findings_is_cut() -> None:
    text = "".join(f"========= Invalid {number}\n=========     at f\n" for number in range(1000))
    assert len(sanitizer.parse(text, "memcheck")) == 20
