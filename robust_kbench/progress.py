"""Progress of an evaluation, which the command line draws and other callers ignore."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Callback for progress, called between steps and never while a clock runs."""

    def __call__(self, stage: str, done: int, total: int) -> None:
        """`done` of `total` steps of `stage` are finished."""


def silent(stage: str, done: int, total: int) -> None:
    """Ignore the progress of an evaluation."""
