"""What the checks of a device's timing make of their numbers; the numbers themselves need a device."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import gpu_checks
import gpu_timing_checks
import gpu_trials
import pytest

from robust_kbench.schema.finding import Finding


def test_equals_that_differ_by_one_per_cent_have_that_error() -> None:
    told = gpu_checks.error_of_equals([math.exp(0.01), math.exp(-0.01)] * 30)
    assert told == {
        "bias_%": pytest.approx(0.0),
        "median_%": pytest.approx(1.0),
        "p95_%": pytest.approx(1.0),
        "repeats": 60,
    }


def test_a_common_drift_is_a_bias_and_a_rare_one_is_in_the_tail() -> None:
    assert gpu_checks.error_of_equals([1.02] * 60)["bias_%"] == pytest.approx(100 * math.log(1.02))
    rare = gpu_checks.error_of_equals([1.0] * 54 + [1.5] * 6)
    assert (rare["median_%"], rare["p95_%"]) == (0.0, pytest.approx(100 * math.log(1.5)))


def test_the_tick_of_a_clock_is_its_smallest_step() -> None:
    assert gpu_checks.ticks([0, 0, 32, 32, 64, 1088, 1120]) == {"tick_ns": 32, "usual_ns": 32, "steps": 4, "reads": 7}
    assert gpu_checks.ticks([5, 5])["tick_ns"] is None


def test_times_are_compared_as_ratios_and_a_timer_that_saw_nothing_has_none() -> None:
    told = gpu_checks.compare(12.0, 10.0, 8.0)
    assert (told["ours/do_bench"], told["ours/profiler"]) == (1.2, 1.5)
    assert gpu_checks.compare(12.0, 10.0, 0.0)["ours/profiler"] is None


def test_what_tripped_is_held_against_what_a_specimen_says() -> None:
    def finding(test: str, severity: Any) -> Finding:
        return Finding(guard="g", severity=severity, message="m", evidence={"test": test})

    findings = (finding("T1", "reject"), finding("T9", "warn"), finding("T7", "reject"))
    assert gpu_trials.outcome(findings, {"T1", "T2"}) == {
        "rejected by": "T1 T7",
        "warned by": "T9",
        "missing": "T2",
        "unexpected": "T7",
    }


def test_every_check_is_offered_and_carried_out() -> None:
    assert set(gpu_checks.CHECKS) == set(gpu_timing_checks.CHECKS)
    assert sum(limit for _, limit in gpu_timing_checks.CHECKS.values()) <= 600


def test_rows_are_read_from_between_other_lines_and_an_error_keeps_those_before_it() -> None:
    output = 'warning: x\n{"a": 1}\n{"a": 2}\n'
    assert gpu_timing_checks.parse_rows(output, 0, "noise") == {"rows": [{"a": 1}, {"a": 2}]}
    told = gpu_timing_checks.parse_rows(output, 3, "Traceback\nOSError: no")
    assert (len(told["rows"]), told["error"]) == (2, "exit code 3: Traceback\nOSError: no")


def test_rows_become_a_table_with_a_column_for_every_key() -> None:
    assert gpu_timing_checks.table([{"a": 1.23456, "b": "x|y"}, {"c": None, "a": 2}]) == (
        "| a | b | c |\n| --- | --- | --- |\n| 1.235 | x\\|y |  |\n| 2 |  |  |\n"
    )


def test_a_check_that_fails_is_in_the_report_and_costs_the_others_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = {"power": {"rows": [{"us": 1.5}], "seconds": 2.0}, "turns": {"rows": [], "error": "oh", "seconds": 1.0}}
    monkeypatch.setattr(gpu_timing_checks, "run_check", lambda name, limit_s: answers[name])
    assert gpu_timing_checks.main(["--out", str(tmp_path), "--only", "turns", "power"]) == 1
    assert json.loads((tmp_path / "timing_checks.json").read_text()) == answers
    page = (tmp_path / "timing_checks.md").read_text()
    assert "```\noh\n```" in page
    assert "| us |\n| --- |\n| 1.5 |" in page
    assert gpu_timing_checks.main(["--out", str(tmp_path), "--only", "power"]) == 0


@pytest.mark.rotating
def test_a_check_runs_in_a_process_of_its_own_and_here_says_that_there_is_no_device() -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a device")
    told = gpu_timing_checks.run_check("overhead", 60)
    assert told["rows"] == []
    assert told["error"].startswith("exit code 1: ")
