"""Text of pictures, whoever wrote it."""

from __future__ import annotations

import pytest
from timed import NASTY

from robust_kbench.plots.labels import (
    MEDIAN_CHARACTERS,
    RATIO_CHARACTERS,
    cells_of,
    escaped,
    padded,
    speedup,
    time,
    visible,
)
from robust_kbench.timing.statistics import Ratio


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("cpp_simd", "cpp_simd"),
        ("noyau_e\u0301te\u0301", "noyau_été"),
        ("a\x1b[2Jb\nc", "a\ufffd[2Jb\ufffdc"),
        ("a\u202egnp", "a\ufffdgnp"),
        ("a\u0336\u0336b", "a\ufffd\ufffdb"),
        ("a\ud800b", "a?b"),
        ("a" * 13, "a" * 13),
        ("a" * 14, "a" * 12 + "…"),
        ("核" * 7, "核" * 6 + "…"),
    ],
    ids=["plain", "accents", "controls", "direction", "stacked", "surrogate", "as wide", "too wide", "wide characters"],
)
def test_what_is_shown_of_a_name(name: str, shown: str) -> None:
    assert visible(name, 13) == shown


@pytest.mark.rotating
def test_a_long_name_costs_no_more_than_its_length() -> None:
    assert visible("x" * 3_000_000, 20_000) == "x" * 19_999 + "…"


def test_markup_is_text() -> None:
    assert escaped('<a href="x">&', 40) == "&lt;a href=&quot;x&quot;&gt;&amp;"


def test_padding_counts_cells() -> None:
    assert padded("核", 4) == "核  "
    assert cells_of(padded(NASTY, 14)) == 14


@pytest.mark.parametrize(
    ("us", "shown"),
    [
        (0.001, "0.001 us"),
        (12.345, "12.35 us"),
        (495.59, "495.6 us"),
        (1152.67, "1,153 us"),
        (4294967.295, "4,294,967 us"),
    ],
)
def test_times_have_about_four_digits(us: float, shown: str) -> None:
    assert time(us) == shown
    assert len(shown) <= MEDIAN_CHARACTERS


def test_a_speedup_is_written_as_in_a_report_while_there_is_room() -> None:
    assert speedup(Ratio(12.375, 11.74, 13.84)) == str(Ratio(12.375, 11.74, 13.84))
    assert speedup(Ratio(4_000_000, 1_000, float("inf"))) == "4e+06x [1e+03, inf]"
    assert len(speedup(Ratio(1.234e-9, 1.234e-100, 1.234e100))) <= RATIO_CHARACTERS
