"""The published leaderboards are what their records say."""

from __future__ import annotations

from pathlib import Path

import pytest

from robust_kbench import store
from robust_kbench.leaderboard.tables import write

FOLDERS = sorted(path.parent for path in (Path(__file__).parents[2] / "leaderboard").glob("*/results.jsonl"))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_published_leaderboard_regenerates_to_the_byte(folder: Path, tmp_path: Path) -> None:
    records = sorted(store.read(folder / "results.jsonl"), key=lambda record: record.started_at)
    for path in write(records, tmp_path):
        assert path.read_bytes() == (folder / path.name).read_bytes()
