"""Runs with the real evaluator under kill -9: no finished work is done again, and the budget is met exactly."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from conftest import needs_compiler
from test_runs import file_of

from robust_kbench.agents import preset as presets
from robust_kbench.agents.archive import ROOT
from robust_kbench.agents.budget import Limits
from robust_kbench.agents.evolution import begin, carry_out, replayed
from robust_kbench.agents.journal import JOURNAL
from robust_kbench.agents.starts import demonstration
from robust_kbench.registry import read_submission

PROGRAM = """
import sys
from pathlib import Path
from robust_kbench.agents.evolution import carry_out

carry_out(Path(sys.argv[1]))
"""
_PATIENCE_S = 240


def events(folder: Path) -> list[dict[str, Any]]:
    """Read all whole lines of the journal."""
    if not (folder / JOURNAL).exists():
        return []
    *lines, _ = (folder / JOURNAL).read_text().split("\n")
    return [json.loads(line) for line in lines]


def verdicts(folder: Path) -> int:
    """Count the verdicts on candidates in the journal, without the root's."""
    return sum(event["event"] == "judged" and event["id"] != ROOT for event in events(folder))


def _killed_after(count: int, folder: Path) -> None:
    """Carry the run out in a process that is killed as soon as so many candidates are judged."""
    with subprocess.Popen([sys.executable, "-c", PROGRAM, str(folder)]) as started:
        deadline = time.monotonic() + _PATIENCE_S
        while verdicts(folder) < count and started.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        started.kill()
    assert verdicts(folder) >= count
    assert started.returncode == -9


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize(("agent", "jobs"), [("best-of-n", 1), ("evoengineer-free", 2)])
def test_a_run_that_was_killed_repeats_no_call_and_no_evaluation(agent: str, jobs: int, tmp_path: Path) -> None:
    folder, start = tmp_path / "run", demonstration("activation/softmax")
    preset = presets.load(agent).model_copy(update={"limits": Limits(evaluations=4)})
    begin(folder, file_of(preset, task=start.file.task, seed=3, jobs=jobs, tier="quick"), start)
    _killed_after(2, folder)
    before = events(folder)
    assert replayed(folder).outcome.stop == "unfinished"

    evolved = carry_out(folder)
    after = events(folder)
    assert after[: len(before)] == before
    for kind in ("call", "judged"):
        counts = Counter(event["id"] for event in after if event["event"] == kind)
        assert set(counts.values()) == {1}, counts
    assert evolved.outcome.stop == "budget"
    assert evolved.budget.spent.evaluations == evolved.budget.spent.calls == 4
    assert len(evolved.outcome.archive) == 5
    assert all(node.is_right for node in evolved.outcome.archive), [n.judged.log for n in evolved.outcome.archive]

    assert [record.submission for record in evolved.final] == ([] if evolved.winner is None else ["best", "start"])
    for record in evolved.final:
        assert not record.replay  # the seed was the evaluator's own, and so a secret one
        assert str(record.seed) not in (folder / JOURNAL).read_text()
        assert record.status == "passed"
    if evolved.winner is not None:
        assert read_submission(folder / "best").digest == evolved.final[0].submission_digest
    assert carry_out(folder).final == evolved.final
