from __future__ import annotations

import io
import sys
import time

import pytest

from robust_kbench.cli.bars import counting


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_without_a_terminal_a_line_a_minute_says_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    told, clock = io.StringIO(), iter([0.0, 59.0, 61.0, 61.0, 100.0, 121.5, 121.5])
    monkeypatch.setattr(sys, "stderr", told)
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    with counting("audit", 1200) as step:
        for _ in range(4):
            step(300)
    assert told.getvalue() == "audit: 600 of 1,200\naudit: 1,200 of 1,200\n"


def test_a_terminal_gets_a_bar_and_no_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", terminal)
    with counting("audit", 2) as step:
        step(2)
    assert "audit" in terminal.getvalue()
    assert "audit: " not in terminal.getvalue()
