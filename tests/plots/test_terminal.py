"""A record as lines of text."""

from __future__ import annotations

import pytest
from test_picture import HARD, LINEAR
from timed import SPREAD, session, timed, timing

from robust_kbench.plots.labels import cells_of
from robust_kbench.plots.panels import case_key
from robust_kbench.plots.terminal import MIN_WIDTH, text
from robust_kbench.schema.record import RunRecord
from robust_kbench.scoring import score_case

STEPS = timed(
    timing(
        session(candidate=[100] * 2 + [120] * 3 + [200], eager=[200] * 6),
        axes={"rows": 8, "cols": 64},
    )
)
EXPECTED = """\
norm/scale  mine (python)
passed, native, tier full, seed 7, on cpu

float32 rows=8 cols=64  {verdict}; fastest: eager
  candidate     120.0 us  ▆     ┃                      ▃  {ratio}
  eager         200.0 us                               ┃  {ratio}
                         96.00                   204.0 us
"""


def test_a_case_is_a_histogram_for_each_contestant_on_one_axis() -> None:
    # 32 cells for 108 us: 100, 120 and 200 us are in the second, the eighth and the last but one.
    scored = score_case(STEPS.timings[0])
    assert text(STEPS, 80) == EXPECTED.format(ratio=scored.speedup, verdict=scored.verdict)


@pytest.mark.parametrize("width", [20, 64, 80, 120])
@pytest.mark.parametrize("record", [STEPS, LINEAR, HARD, timed()], ids=["steps", "linear", "hard", "untimed"])
def test_no_line_is_wider_than_the_terminal(record: RunRecord, width: int) -> None:
    floors = {case_key(case.axes, case.dtype): 90.0 for case in record.timings}
    lines = text(record, width, floors).split("\n")
    assert max(map(cells_of, lines)) <= max(width, MIN_WIDTH)
    assert not set("\x1b\u202e\u0336\ud800") & set("".join(lines))


def test_all_histograms_of_a_case_start_in_the_same_column_and_a_wider_terminal_widens_them() -> None:
    for width in (80, 100):
        rows = [line for line in text(STEPS, width).splitlines() if line.startswith("  ") and "┃" in line]
        first = 2 + len("candidate") + 1 + 12 + 1
        assert [line[first - 1] for line in rows] == [" ", " "]
        assert rows[1].index("┃") == first + int((200 - 96) / 108 * (width - first - 23))


def test_a_single_stray_call_is_visible_beside_many() -> None:
    many = timed(timing(session(candidate=[100] * 200 + [150], eager=[100] * 201)))
    assert "▁" in text(many)


def test_a_long_name_of_a_baseline_leaves_room_for_the_case() -> None:
    shown = text(timed(timing(session(**{"candidate": [1], "b" * 500: [2]}), axes={"rows": 8, "cols": 64})))
    assert "\nfloat32 rows=8 cols=64  " in shown


def test_a_wide_spread_and_a_floor_are_named_on_the_axis() -> None:
    key = case_key({"rows": 64}, "float32")
    assert text(timed(SPREAD), 80, {key: 40.0}).splitlines()[-1].endswith("us, log; floor 40.00 us")
    assert text(timed(SPREAD), 80).splitlines()[-1].endswith("us, log")


def test_a_record_that_was_not_timed_says_so() -> None:
    assert text(timed()).endswith("no case was timed\n")
