"""What the tests share: one warm evaluator, and submissions made of a few lines of source."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import pytest

from robust_kbench.evaluate import Evaluator
from robust_kbench.schema.submission import Submission, SubmissionFile


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
