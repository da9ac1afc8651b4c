"""How an evaluation says how far it has come; the command line draws it, everybody else ignores it."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Called between steps, never inside a clock."""

    def __call__(self, stage: str, done: int, total: int) -> None:
        """`done` of `total` steps of `stage` are finished."""


def silent(stage: str, done: int, total: int) -> None:
    """Say nothing."""
