"""Every task is tested in the fast lane on one day of eight."""

from __future__ import annotations

import pytest
import rotation

NAMES = [f"family/op{number}" for number in range(100)]


def test_a_name_is_due_on_one_of_eight_days(monkeypatch: pytest.MonkeyPatch) -> None:
    due: list[str] = []
    for day in range(8):
        monkeypatch.setattr(rotation, "today", lambda day=day: day)
        due += [each for each in rotation.rotating(NAMES) if isinstance(each, str)]
    assert sorted(due) == sorted(NAMES)


def test_the_slow_lane_has_all_of_them() -> None:
    given = [each if isinstance(each, str) else each.values[0] for each in rotation.rotating(NAMES)]
    assert given == NAMES
