"""Dealing of looks: every item is looked at, and nothing tells when."""

from __future__ import annotations

from collections import Counter

import pytest

from robust_kbench.timing import dealing
from robust_kbench.timing.dealing import Deal

ITEMS = "abcdef"


@pytest.fixture
def exact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dealing, "_AGAIN", 0.0)


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("sessions", [1, 3, 5])
def test_the_sessions_of_every_case_look_at_every_item_once(sessions: int) -> None:
    deal = Deal(ITEMS, 4, sessions, is_single=False)
    for number in range(4):
        assert sorted(item for turn in range(sessions) for item in deal.of(number, turn)) == sorted(ITEMS)


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("cases", [1, 2, 3])
def test_cases_with_a_single_session_look_at_every_item_together(cases: int) -> None:
    deal = Deal(ITEMS, cases, 5, is_single=True)
    assert sorted(item for number in range(cases) for item in deal.of(number, 0)) == sorted(ITEMS)


@pytest.mark.usefixtures("exact")
def test_further_sessions_begin_anew_and_a_repeated_one_looks_at_the_same() -> None:
    deal = Deal(ITEMS, 1, 5, is_single=False)
    first, later = ([deal.of(0, turn) for turn in turns] for turns in (range(5), range(5, 10)))
    assert sorted(item for items in later for item in items) == sorted(ITEMS)
    assert [deal.of(0, turn) for turn in range(5)] == first


@pytest.mark.usefixtures("exact")
def test_what_one_session_looks_at_tells_nothing_of_the_others() -> None:
    """A session that looks at `a` looks at `b` as often as any other does."""
    beside = Counter[bool]()
    for _ in range(400):
        deal = Deal(ITEMS, 2, 5, is_single=False)
        turn = next(turn for turn in range(5) if "a" in deal.of(0, turn))
        beside.update("b" in deal.of(number, turn) for number in (0, 1))
    assert pytest.approx(beside[True], abs=60) == 0.2 * 800


def test_what_was_looked_at_is_looked_at_again_now_and_then() -> None:
    again = 0
    for _ in range(400):
        deal = Deal("a", 1, 5, is_single=False)
        again += sum("a" in deal.of(0, turn) for turn in range(5)) - 1
    assert pytest.approx(again, abs=45) == 400 * 4 * dealing._AGAIN
