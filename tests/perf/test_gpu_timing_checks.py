"""Evaluation of the numbers that the checks of a device's timing give; the numbers themselves need a device."""

from __future__ import annotations

import json
import math
from pathlib import Path

import gpu_checks
import gpu_timing_checks
import pytest
from gpu_trials import Published

from robust_kbench.timing.result import SessionResult


def session(candidate_us: float, eager_us: float, control_us: float) -> SessionResult:
    times = {"candidate": candidate_us, "eager": eager_us, "control": control_us}
    return SessionResult({name: [round(1e3 * us)] * 5 for name, us in times.items()})


def test_equals_are_as_far_apart_as_their_medians_in_each_session() -> None:
    told = gpu_checks.apart([session(100, 101, 100), session(102, 101, 101)])
    assert told["us"] == pytest.approx(101)
    assert told["sessions_%"] == "1.00, 1.00, -0.99, 0.00"
    assert told["mean_%"] == pytest.approx(0.25, abs=0.01)


def test_equals_that_are_called_faster_are_counted_of_those_that_the_clock_resolves() -> None:
    told = gpu_checks.called([session(100, 101, 100), session(90, 100, 100), session(100, 90, 100)])
    assert told == {"faster": 1, "slower": 2, "of": 6, "resolved": 6}


def test_times_are_compared_as_ratios_and_a_profiler_that_saw_nothing_has_none() -> None:
    told = gpu_checks.compare(Published("softmax", 12.0, 8.0, 0.0))
    assert (told["ours/profiler"], told["ours/profiler after a turn"]) == (1.5, None)


def test_a_published_kernel_that_is_refused_is_in_the_table_with_the_reason() -> None:
    told = gpu_checks.compare(Published("matmul", math.nan, math.nan, math.nan, "c[0, 0]: got 1"))
    assert told == {"kernel": "matmul", "error": "c[0, 0]: got 1"}


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
    answers = {"power": {"rows": [{"us": 1.5}], "seconds": 2.0}, "clock": {"rows": [], "error": "oh", "seconds": 1.0}}
    monkeypatch.setattr(gpu_timing_checks, "run_check", lambda name, limit_s: answers[name])
    assert gpu_timing_checks.main(["--out", str(tmp_path), "--only", "clock", "power"]) == 1
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
    told = gpu_timing_checks.run_check("clock", 60)
    assert told["rows"] == []
    assert told["error"].startswith("exit code 1: ")
