"""Several evaluations: the bar that they draw on a terminal, and what they share."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from robust_kbench import side_by_side
from robust_kbench.cli import jobs
from robust_kbench.cli.bars import bar
from robust_kbench.cli.collect import Job, collect
from robust_kbench.errors import HarnessError
from robust_kbench.isolation.pool import WarmPool
from robust_kbench.machine_shares import Share

ROOT = Path(__file__).parents[2]
SHARES = [Share((0, 1), "GPU-a"), Share((2, 3), "GPU-b")]


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


def _evaluate(monkeypatch: pytest.MonkeyPatch, device: str, results: Sequence[object]) -> tuple[list[Any], list[Share]]:
    """What is told of as many evaluations, three at once, on a machine with two GPUs; and what they were given."""
    found, _ = collect([ROOT / "baselines/norm/rmsnorm"], None)
    todo = found[: len(results)]
    given: list[Share] = []

    def each(_: object, items: Sequence[Job], *, jobs: int, shares: Sequence[Share]) -> Iterator[tuple[Job, object]]:
        assert jobs == 3
        given.extend(shares)
        yield from zip(items, results, strict=True)

    monkeypatch.setattr(jobs, "open_device", lambda _: SimpleNamespace(kind=device))
    monkeypatch.setattr(side_by_side, "shares_of", lambda *_: SHARES)
    monkeypatch.setattr(side_by_side, "each", each)
    told = [result for _, result in jobs.run(todo, device, "full", None, None, 3, WarmPool())]
    return told, given


def test_on_several_gpus_evaluations_have_one_each(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _evaluate(monkeypatch, "cuda", ["one", "two"]) == (["one", "two"], SHARES)


def test_on_a_processor_they_take_turns_at_measuring(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _evaluate(monkeypatch, "cpu", ["one", "two"]) == (["one", "two"], [])


def test_a_process_that_was_killed_is_our_failure_and_told_with_what_it_was_at(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(HarnessError, match=r"norm/rmsnorm/\w+: the process that judged it was killed"):
        _evaluate(monkeypatch, "cpu", ["one", None])
