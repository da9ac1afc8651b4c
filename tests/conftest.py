"""Fixtures that the tests share: one warm evaluator, and submissions made of a few lines of source."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Protocol

import pytest
import torch
from hypothesis import settings
from rotation import due_among

from robust_kbench.evaluate import Evaluator
from robust_kbench.schema.submission import Submission, SubmissionFile

NO_COMPILER = shutil.which("g++") is None
settings.register_profile("unhurried", deadline=None)  # other processes may be slow to let one work
settings.load_profile("unhurried")
torch.set_num_threads(1)  # tests run side by side, and two threads on a busy core wait for each other
needs_compiler = pytest.mark.skipif(NO_COMPILER, reason="no g++ on the PATH; Debian: apt-get install g++")


@pytest.hookimpl(tryfirst=True)  # before pytest looks at marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark rotating tests that are not due today as slow."""
    rotating = [item for item in items if item.get_closest_marker("rotating")]
    due = due_among(item.nodeid for item in rotating)
    for item in rotating:
        if item.nodeid not in due:
            item.add_marker(pytest.mark.slow)


class Submit(Protocol):
    """Make a submission to norm/rmsnorm from one source text."""

    def __call__(self, source: str, *, language: str = "python", abi: str = "value", **keys: object) -> Submission: ...


@pytest.fixture(scope="session")
def evaluator() -> Iterator[Evaluator]:
    with Evaluator("cpu") as shared:
        yield shared


@pytest.fixture
def submit() -> Submit:
    suffix = {"python": "py", "triton": "py", "cpp": "cpp", "cuda": "cu"}

    def make(source: str, *, language: str = "python", abi: str = "value", **keys: object) -> Submission:
        if language in ("cpp", "cuda") and NO_COMPILER:
            pytest.skip("no g++ on the PATH; Debian: apt-get install g++")
        file = f"kernel.{suffix[language]}"
        fields = {
            "task": "norm/rmsnorm",
            "language": language,
            "abi": abi,
            "entry_point": f"{file}::rmsnorm",
            "dtypes": ("float32",),
            **keys,
        }
        return Submission(name="test", file=SubmissionFile.model_validate(fields), sources={file: source})

    return make
