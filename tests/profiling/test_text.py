from __future__ import annotations

import pytest

from robust_kbench.profiling.text import shown


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("two\nlines\tand a tab", "two lines and a tab"),
        ("\x1b]0;title\x07", " ]0;title "),
        ("\u202egnp.exe", " gnp.exe"),
        ("\udcff", "?"),
        ("x" * 401, "x" * 399 + "…"),
    ],
)
def test_foreign_text_is_one_bounded_line_without_control_characters(text: str, expected: str) -> None:
    assert shown(text) == expected
