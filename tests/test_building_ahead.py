"""Builds that begin while torch is imported or another submission is judged, and the conditions for that."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from conftest import Submit

from robust_kbench import building, devices, evaluate
from robust_kbench.building import Building
from robust_kbench.cli import collect
from robust_kbench.cli import evaluate as evaluate_
from robust_kbench.cli import jobs as jobs_
from robust_kbench.evaluate import Evaluator
from robust_kbench.isolation import pool

SOURCE = (
    "import torch\n\ndef rmsnorm(x, weight):\n    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)\n"
)


@pytest.fixture
def evaluator(monkeypatch: pytest.MonkeyPatch) -> Iterator[Evaluator]:
    """Make an evaluator that is on a device as far as building goes."""
    made = object.__new__(Evaluator)
    device: Any = SimpleNamespace(kind="cuda")
    pool: Any = SimpleNamespace(scratch=lambda: None, close=lambda: None)
    made.device, made._pool, made.building = device, pool, Building(device, pool)
    monkeypatch.setattr(os, "cpu_count", lambda: 16)
    yield made
    made.close()


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """List the names of the submissions that were built, in order."""
    names: list[str] = []

    def build(name: str, submission: Any, *_: Any) -> Any:
        names.append(submission.name)
        return f"built {submission.name}"

    monkeypatch.setattr(building, "build", build)
    return names


def handed_over(evaluator: Evaluator, monkeypatch: pytest.MonkeyPatch, submission: Any) -> Any:
    """Evaluate a submission; return the build that the run gets, made ahead, or None."""
    given: list[Any] = []

    def run(*arguments: Any) -> Any:
        given.append(arguments[-1])
        return SimpleNamespace(record=lambda: None)

    monkeypatch.setattr(evaluate, "_Run", run)
    evaluator.evaluate(submission)
    return given[0] and given[0].result()


def test_what_was_built_ahead_is_what_its_own_run_gets(
    evaluator: Evaluator, built: list[str], submit: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, third = (submit(SOURCE) for _ in range(3))
    evaluator.building.begin(second)
    assert handed_over(evaluator, monkeypatch, first) is None
    evaluator.building.begin(third)
    assert handed_over(evaluator, monkeypatch, second) == f"built {second.name}"
    assert handed_over(evaluator, monkeypatch, third) == f"built {third.name}"
    assert handed_over(evaluator, monkeypatch, third) is None
    assert len(built) == 2


@pytest.mark.parametrize(("kind", "cores"), [("cpu", 16), ("cuda", 4)])
def test_nothing_is_built_ahead_where_that_would_disturb(
    evaluator: Evaluator, built: list[str], submit: Submit, monkeypatch: pytest.MonkeyPatch, kind: str, cores: int
) -> None:
    device: Any = SimpleNamespace(kind=kind)
    evaluator.building.device = device
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    submission = submit(SOURCE)
    evaluator.building.begin(submission)
    assert handed_over(evaluator, monkeypatch, submission) is None
    assert built == []


def test_a_build_may_begin_before_torch_is_imported() -> None:
    """The import takes a second and more of a quick evaluation."""
    code = "import sys, robust_kbench.building, robust_kbench.devices; print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


@pytest.mark.parametrize(("paths", "jobs", "begun"), [(1, 1, 1), (2, 1, 1), (1, 2, 1), (2, 2, 0)])
def test_the_command_line_begins_with_the_first_one_unless_others_judge_it(
    submit: Submit, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, paths: int, jobs: int, begun: int
) -> None:
    found = [SimpleNamespace(submission=submit(SOURCE), path=tmp_path) for _ in range(paths)]
    started: list[Any] = []
    given: list[Any] = []

    def run(*arguments: Any) -> Iterator[Any]:
        given.append(arguments[-1])
        yield from ()

    class Begun(Building):
        def begin(self, submission: Any) -> None:
            started.append(submission)

    monkeypatch.setattr(collect, "collect", lambda *_: (found, 0))
    monkeypatch.setattr(jobs_, "run", run)
    monkeypatch.setattr(pool, "WarmPool", lambda: SimpleNamespace(warm_up=lambda *_, **__: None))
    monkeypatch.setattr(devices, "open_device", lambda device: SimpleNamespace(kind=device))
    monkeypatch.setattr(building, "Building", Begun)
    with pytest.raises(SystemExit):
        evaluate_.evaluate([tmp_path], device=evaluate_.DeviceChoice.CUDA, tier=evaluate_.TierChoice.QUICK, jobs=jobs)
    assert started == [each.submission for each in found[:begun]]
    assert (given[0] is None) is (begun == 0)
