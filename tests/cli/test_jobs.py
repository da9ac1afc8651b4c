"""The bar that an evaluation draws on a terminal."""

from __future__ import annotations

import io
import sys

import pytest

from robust_kbench.cli.bars import bar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_name_of_a_submission_is_no_markup_of_the_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(sys, "stderr", terminal)
    with bar("1/1 [/b][link=http://example.org]mine") as listener:
        listener("cases", 1, 2)
    assert "[/b][link=http://example.org]mine  cases" in terminal.getvalue()
    assert "\x1b]8;" not in terminal.getvalue()
