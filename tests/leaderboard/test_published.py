"""The published leaderboards are what their records say."""

from __future__ import annotations

from pathlib import Path

import pytest

from robust_kbench.leaderboard.site import redteam_page
from robust_kbench.leaderboard.summary import summaries
from robust_kbench.leaderboard.tables import write

FOLDERS = sorted(path.parent for path in (Path(__file__).parents[2] / "leaderboard").glob("*/results.jsonl"))
REDTEAMS = [path for folder in FOLDERS for path in folder.glob("redteam.csv")]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_published_leaderboard_regenerates_to_the_byte(folder: Path, tmp_path: Path) -> None:
    for path in write(summaries([folder / "results.jsonl"]), tmp_path):
        assert path.read_bytes() == (folder / path.name).read_bytes()


@pytest.mark.parametrize("table", REDTEAMS, ids=lambda table: table.parent.name)
def test_a_published_red_team_got_nothing_and_nearly_all_of_it_was_armed(table: Path) -> None:
    rows, broken = redteam_page.read(table)
    assert broken == 0
    assert len({row["specimen"] for row in rows}) == len(rows) > 400
    attacks = [row for row in rows if row["kind"] != "honest"]
    assert [row["specimen"] for row in attacks if row["succeeded"] != "0"] == []
    assert sum(row["armed"] != "1" for row in attacks) <= len(attacks) / 100
    assert [row["specimen"] for row in rows if row["kind"] == "honest" and row["status"] != "passed"] == []
