"""The published leaderboards are what their records say."""

from __future__ import annotations

from pathlib import Path

import pytest

from robust_kbench.leaderboard.summary import summaries
from robust_kbench.leaderboard.tables import write

FOLDERS = sorted(path.parent for path in (Path(__file__).parents[2] / "leaderboard").glob("*/results.jsonl"))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_published_leaderboard_regenerates_to_the_byte(folder: Path, tmp_path: Path) -> None:
    for path in write(summaries([folder / "results.jsonl"]), tmp_path):
        assert path.read_bytes() == (folder / path.name).read_bytes()
