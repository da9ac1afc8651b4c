"""The published searches of the demonstration: their requests, answers and findings, and the final judging."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from robust_kbench import store
from robust_kbench.agents import evolution
from robust_kbench.agents.archive import Judged
from robust_kbench.agents.judging import verdict
from robust_kbench.registry import read_submission
from robust_kbench.schema.record import RunRecord

ARCHIVE = Path(__file__).parents[2] / "leaderboard/cpu/demonstration.tar.xz"
PAGE = ARCHIVE.parents[2] / "docs/demonstration.md"
FINALS = ARCHIVE.with_name("demonstration-finals.tar.xz")
RUNS = tuple(f"sweep/activation-softmax__{agent}__improver__1" for agent in ("ai-cuda-engineer", "best-of-n"))


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Unpack two of the runs. They are among the first of the archive, the rest of which is left packed."""
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


@pytest.fixture(scope="module")
def finals() -> list[RunRecord]:
    """Read the final records of all searches. Several searches found the same kernel, which was judged once."""
    with tarfile.open(FINALS) as archive:
        files = [archive.extractfile(each) for each in archive]
        lines = dict.fromkeys(line for file in files if file is not None for line in file)
        return [store.parse_line(line, FINALS.name) for line in lines]


@pytest.mark.rotating
def test_what_was_judged_in_the_end_is_right_on_cases_that_no_search_has_seen(
    finals: list[RunRecord], folders: list[Path]
) -> None:
    assert len(finals) == 62
    assert {(each.status, each.tier) for each in finals} == {("passed", "full")}
    seeds = {each.seed for each in finals}
    assert len(seeds) == len(finals)
    assert not seeds & {evolution.replayed(folder).file.public_seed for folder in folders}


@pytest.mark.rotating
def test_the_kernels_that_were_judged_in_the_end_are_those_of_the_searches(
    finals: list[RunRecord], folders: list[Path]
) -> None:
    judged = {(each.submission, each.submission_digest) for each in finals}
    for folder in folders:
        for name in (evolution.BEST, evolution.START):
            assert (name, read_submission(folder / name).digest) in judged


@pytest.mark.rotating
def test_on_each_task_a_kernel_is_more_than_three_times_as_fast_as_its_start(finals: list[RunRecord]) -> None:
    found: dict[str, dict[str, list[Judged]]] = {}
    for each in finals:
        judged = verdict(each)
        assert judged.stage == "time"
        found.setdefault(each.task, {}).setdefault(each.submission, []).append(judged)
    assert len(found) == 5
    page = PAGE.read_text(encoding="utf-8")
    for task, ratios in found.items():
        (start,), best = ratios[evolution.START], max(ratios[evolution.BEST], key=lambda judged: judged.low)
        assert best.low / start.high > 3
        assert re.search(rf"^\| `{task}` \|.*\| {best.speedup / start.speedup:.2f}x \[", page, re.MULTILINE)


@pytest.mark.slow
def test_the_page_is_what_one_command_makes_of_the_archives(tmp_path: Path) -> None:
    for each in (ARCHIVE, FINALS):
        with tarfile.open(each) as archive:
            archive.extractall(tmp_path, filter="data")
    command = [sys.executable, "-m", "robust_kbench", "sweep", "demonstration", "--out", "sweep"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "sweep/README.md").read_text(encoding="utf-8") == PAGE.read_text(encoding="utf-8")
