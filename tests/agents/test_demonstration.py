"""The published searches of the demonstration: their journals say all that was asked, answered and found."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from robust_kbench.agents import evolution
from robust_kbench.registry import read_submission

ARCHIVE = Path(__file__).parents[2] / "leaderboard/cpu/demonstration.tar.xz"
RUNS = tuple(f"sweep/activation-softmax__{agent}__improver__1" for agent in ("ai-cuda-engineer", "best-of-n"))


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two of the runs; they are among the first of the archive, the rest of which is left packed."""
    place = tmp_path_factory.mktemp("demonstration")
    with tarfile.open(ARCHIVE, "r|xz") as archive:
        for member in archive:
            if member.name.startswith(RUNS):
                archive.extract(member, place, filter="data")
            elif member.name > max(RUNS) + "~":
                break
    return [place / run for run in RUNS]


@pytest.mark.rotating
def test_a_published_search_replays_to_the_kernel_that_it_found(folders: list[Path]) -> None:
    for folder in folders:
        evolved = evolution.replayed(folder)
        assert (evolved.file.llm, evolved.outcome.stop) == (("improver",), "budget")
        assert evolved.budget.spent.evaluations == 45
        assert evolved.winner is not None
        best = read_submission(folder / evolution.BEST)
        assert evolved.winner.candidate.code == best.sources[best.entry_file]


@pytest.mark.rotating
def test_a_published_search_says_that_no_language_model_answered(folders: list[Path]) -> None:
    for folder in folders:
        assert "improver" in read_submission(folder / evolution.BEST).file.author
