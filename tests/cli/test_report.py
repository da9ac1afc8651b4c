"""What a person reads of a record."""

from __future__ import annotations

from specimens import make_record, make_result

from robust_kbench.cli.report import report
from robust_kbench.schema.record import Search, Status


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


def test_a_case_of_a_probe_is_named_after_it() -> None:
    failed = make_result(probe="integers", status="incorrect", reason="wrong")
    text = report(make_record(status=Status.INCORRECT, cases=(failed, make_result()), timings=()), "mine")
    assert "  INCORRECT rows=4 cols=8 float32 contiguous integers" in text.splitlines()
