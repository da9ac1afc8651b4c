"""Every task is tested in the fast lane on one day of eight."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import conftest
import pytest
import rotation

NAMES = [f"family/op{number}" for number in range(100)]


def test_a_name_is_due_on_one_of_eight_days(monkeypatch: pytest.MonkeyPatch) -> None:
    due: list[str] = []
    for day in range(8):
        monkeypatch.setattr(rotation, "today", lambda day=day: day)
        today = [each for each in rotation.rotating(NAMES) if isinstance(each, str)]
        assert len(today) in (12, 13)
        due += today
    assert sorted(due) == sorted(NAMES)


def test_processes_of_a_run_agree_on_the_day_also_after_midnight() -> None:
    told = [sys.executable, "-c", "import rotation; print(rotation.today())"]
    inherited = subprocess.run(
        told, cwd=Path(__file__).parent, env={**os.environ, rotation._DAY: "7"}, capture_output=True, check=True
    )
    assert inherited.stdout == b"7\n"


def test_the_slow_lane_has_all_of_them() -> None:
    given = [each if isinstance(each, str) else each.values[0] for each in rotation.rotating(NAMES)]
    assert given == NAMES


@pytest.mark.parametrize("marked", [True, False])
def test_a_rotating_test_is_slow_on_the_other_seven_days(marked: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    class Item:
        nodeid = "tests/test_x.py::test_y"

        def __init__(self) -> None:
            self.marks = ["rotating"] if marked else []

        def get_closest_marker(self, name: str) -> str | None:
            return name if name in self.marks else None

        def add_marker(self, mark: pytest.MarkDecorator) -> None:
            self.marks.append(mark.name)

    def is_slow(day: int) -> bool:
        monkeypatch.setattr(rotation, "today", lambda: day)
        items = [Item()]
        conftest.pytest_collection_modifyitems(items)  # type: ignore[arg-type]
        return "slow" in items[0].marks

    assert sum(map(is_slow, range(8))) == 7 * marked
