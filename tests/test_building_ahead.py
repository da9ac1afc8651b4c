"""What is built while another submission is evaluated, and where that is done at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
from conftest import Submit

from robust_kbench import evaluate
from robust_kbench.evaluate import Evaluator

SOURCE = (
    "import torch\n\ndef rmsnorm(x, weight):\n    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)\n"
)


@pytest.fixture
def evaluator(monkeypatch: pytest.MonkeyPatch) -> Iterator[Evaluator]:
    """One on a device, as far as building goes."""
    made = object.__new__(Evaluator)
    device: Any = SimpleNamespace(kind="cuda")
    pool: Any = SimpleNamespace(scratch=lambda: None, close=lambda: None)
    made.device, made._pool, made._builder, made._ahead = device, pool, ThreadPoolExecutor(1), []
    monkeypatch.setattr(os, "cpu_count", lambda: 16)
    yield made
    made.close()


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the submissions that were built, in order."""
    names: list[str] = []

    def build(name: str, submission: Any, *_: Any) -> Any:
        names.append(submission.name)
        return f"built {submission.name}"

    monkeypatch.setattr(evaluate, "build", build)
    return names


def handed_over(evaluator: Evaluator, monkeypatch: pytest.MonkeyPatch, submission: Any) -> Any:
    """What a run gets that was built ahead, or None."""
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
    evaluator.build_ahead(second)
    assert handed_over(evaluator, monkeypatch, first) is None
    evaluator.build_ahead(third)
    assert handed_over(evaluator, monkeypatch, second) == f"built {second.name}"
    assert handed_over(evaluator, monkeypatch, third) == f"built {third.name}"
    assert handed_over(evaluator, monkeypatch, third) is None
    assert len(built) == 2


@pytest.mark.parametrize(("kind", "cores"), [("cpu", 16), ("cuda", 4)])
def test_nothing_is_built_ahead_where_that_would_disturb(
    evaluator: Evaluator, built: list[str], submit: Submit, monkeypatch: pytest.MonkeyPatch, kind: str, cores: int
) -> None:
    device: Any = SimpleNamespace(kind=kind)
    evaluator.device = device
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    submission = submit(SOURCE)
    evaluator.build_ahead(submission)
    assert handed_over(evaluator, monkeypatch, submission) is None
    assert built == []
