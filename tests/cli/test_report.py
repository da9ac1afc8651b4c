"""The report of a record that a person reads."""

from __future__ import annotations

import json

import pytest
from specimens import make_case, make_record, make_result

from robust_kbench.cli.case_text import parse_case
from robust_kbench.cli.collect import Job
from robust_kbench.cli.evaluate import _print
from robust_kbench.cli.report import report
from robust_kbench.schema.case import Case
from robust_kbench.schema.finding import Finding
from robust_kbench.schema.record import CaseResult, Search, Session, Status, Timing, encode_samples
from robust_kbench.schema.submission import Submission, SubmissionFile

STEERING = (
    "\x1b[1A\x1b]0;mine\x07\x9b2K\rPASSED  faster\nPASSED  faster\x0bPASSED\x85PASSED\u2028PASSED \u202egnorw\u2066"
    " [bold]x"
)


def test_the_cases_of_a_passed_record_are_counted_by_dtype_layout_distribution_and_probe() -> None:
    cases = (make_result(), make_result(layout="offset"), make_result(probe="stall"))
    lines = report(make_record(cases=cases), "mine").splitlines()
    first = lines.index("  dtypes    float32 3")
    assert lines[first + 1 : first + 4] == [
        "  layouts   contiguous 2, offset 1",
        "  values    normal 2",
        "  probes    stall 1",
    ]


def test_a_search_that_found_nothing_says_how_much_it_tried() -> None:
    found = Search(examples=57, covered={}, minimal=None)
    assert "  searched  57 further calls: nothing failed" in report(make_record(search=found), "mine").splitlines()


def test_the_smallest_case_comes_with_its_reason_its_command_and_the_line_that_pins_it() -> None:
    minimal = make_result(axes={"rows": 1, "cols": 9}, layout="strided", status="incorrect", reason="y[0, 8] is wrong")
    found = Search(examples=13, covered={}, minimal=minimal)
    record = make_record(status=Status.INCORRECT, reason="y[0, 8] is wrong", timings=(), search=found)
    lines = report(record, "my kernel").splitlines()
    line = "{axes: {rows: 1, cols: 9}, dtype: float32, layout: strided, seed: 7}"
    first = lines.index("  smallest  rows=1 cols=9 float32 strided normal   (incorrect; 13 further calls)")
    assert lines[first + 1 : first + 5] == [
        "            y[0, 8] is wrong",
        f"  reproduce kbench evaluate 'my kernel' --device cpu --case '{line}'",
        f"  pin       - {line}",
        "            under `cases:` in tasks/norm/scale/regressions.yaml",
    ]


def test_a_charge_for_uneven_calls_is_told_beside_the_speed() -> None:
    times = {"candidate": [100_000, 100_000, 100_000, 500_000] * 3, "eager": [400_000] * 12}
    session = Session(samples={name: encode_samples(each) for name, each in times.items()}, foreign_load=0.0)
    timing = Timing(axes={"rows": 1}, dtype="float32", sessions=(session,))
    (line,) = (line for line in report(make_record(timings=(timing,)), "mine").splitlines() if "  speed  " in line)
    assert "   200.0 us   2.00x [" in line
    assert line.endswith("   multiplied by 2.00, as a few calls take far longer")


def _commands(cases: tuple[CaseResult, ...], given: int | Case | None = None) -> list[str]:
    record = make_record(status=Status.INCORRECT, reason="wrong", cases=cases, timings=(), seed=5)
    lines = report(record, "mine", given).splitlines()
    return [line.removeprefix("  reproduce ") for line in lines if line.startswith("  reproduce ")]


def test_a_drawn_case_is_reproduced_by_its_number_and_a_timed_one_by_its_line() -> None:
    right, wrong = make_result(seed=6), make_result(status="incorrect", reason="wrong")
    begin = "kbench evaluate mine --device cpu --tier full"
    assert _commands((right, wrong)) == [f"{begin} --seed 5 --case 1"]
    line = "{axes: {rows: 4, cols: 8}, dtype: float32, seed: 7, role: timed}"
    assert _commands((right, wrong.model_copy(update={"role": "timed"}))) == [f"{begin} --case '{line}'"]
    assert parse_case(line) == make_case(role="timed")


def test_where_no_case_is_to_blame_all_of_them_are_run_again() -> None:
    assert _commands((make_result(),)) == ["kbench evaluate mine --device cpu --tier full --seed 5"]


@pytest.mark.parametrize(
    ("given", "options"),
    [(8, "--seed 5 --case 8"), (make_case(), "--case '{axes: {rows: 4, cols: 8}, dtype: float32, seed: 7}'")],
)
def test_a_single_case_is_reproduced_by_the_command_that_was_given(given: int | Case, options: str) -> None:
    wrong = make_result(status="incorrect", reason="wrong")
    assert _commands((wrong,), given) == [f"kbench evaluate mine --device cpu --tier full {options}"]


def test_a_case_of_a_probe_is_named_after_it() -> None:
    failed = make_result(probe="integers", status="incorrect", reason="wrong")
    text = report(make_record(status=Status.INCORRECT, cases=(failed, make_result()), timings=()), "mine")
    assert "  INCORRECT rows=4 cols=8 float32 contiguous integers" in text.splitlines()


@pytest.mark.parametrize("status", [Status.INCORRECT, Status.BUILD_FAILED, Status.HARNESS_ERROR])
def test_no_word_of_a_submission_steers_the_terminal_or_gets_a_line_of_its_own(status: Status) -> None:
    def told(text: str) -> str:
        wrong = make_result(status="incorrect", reason=text, output=text)
        missing = make_result(status="not_checked", dtype="float16", reason=text)
        finding = Finding(guard=text, severity="warn", message=text, case=text)
        record = make_record(
            status=status, reason=text, submission=text, task=text, language=text, abi=text, author=text,
            log=f"first\n{text}", cases=(wrong, missing), timings=(), findings=(finding,),
            search=Search(examples=1, covered={}, minimal=wrong), environment={"device": text},
        )  # fmt: skip
        return report(record, text)

    lines = told(STEERING).split("\n")
    assert all(line.isprintable() for line in lines)
    assert "[bold]x" in lines[0]
    assert all(line.startswith("  ") for line in lines[1:-1])
    assert lines[-1].startswith(f"{status.value.upper().replace('_', ' ')}  ")
    beside_log = [[line for line in each if "            | " not in line] for each in (lines, told("x").split("\n"))]
    assert len(beside_log[0]) == len(beside_log[1])


def test_a_record_in_json_is_the_same_record_in_ascii(capsys: pytest.CaptureFixture[str]) -> None:
    file = SubmissionFile(task="norm/scale", language="python", entry_point="kernel.py::scale")
    record = make_record(reason="\x9b2J\u202e", status=Status.CRASHED)
    _print(record, Job("mine", Submission(name="mine", file=file, sources={})), as_json=True)
    printed = capsys.readouterr().out
    assert printed.isascii()
    assert json.loads(printed)["reason"] == record.reason


def test_a_lost_baseline_costs_the_rank_and_the_report_says_so() -> None:
    lost = Finding(guard="baselines", severity="warn", message="baseline compile is left out: was killed by SIGKILL")
    lines = report(make_record(findings=(lost,)), "mine").splitlines()
    assert "  warning   baselines: baseline compile is left out: was killed by SIGKILL" in lines
    assert "  no rank   a baseline failed" in lines
    assert not any(line.startswith("  no rank") for line in report(make_record(), "mine").splitlines())
