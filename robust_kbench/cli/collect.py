"""Paths of a command line, and the submissions that they stand for."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import typer

from robust_kbench.errors import SpecError, UsageError
from robust_kbench.registry import SUBMISSION_FILE, TASKS_VARIABLE, find_submissions, submission_folders
from robust_kbench.schema.documents import shown
from robust_kbench.schema.submission import Submission


@dataclass(frozen=True)
class Job:
    """Submission with the path that the user would type for it."""

    path: str
    submission: Submission


def collect(paths: Sequence[Path], task: str | None) -> tuple[list[Job], int]:
    """Return all submissions below `paths`, and the exit code.

    Broken submissions are reported on stderr. They cost exit code 2, and not the verdicts of the others.
    """
    jobs, code = [], 0
    for path in paths:
        folders = submission_folders(path) if path.is_dir() else []
        for place in folders or [path]:
            try:
                jobs += [Job(str(place), found) for found in find_submissions(_own_file(place), task)]
            except (SpecError, UsageError) as error:
                typer.echo(shown(f"error: {error}"), err=True)
                code = 2
    return jobs, code


def trust_tasks_in(folders: Sequence[Path]) -> None:
    """Let submissions be judged on tasks below `folders`, too, whose references are executed. Raises UsageError."""
    for folder in folders:
        if not folder.is_dir():
            raise UsageError(f"--tasks {folder}: no such directory")
        if os.pathsep in str(folder.resolve()):  # or another folder would be trusted, too
            raise UsageError(f"--tasks {folder}: its path has a {os.pathsep!r}, which separates folders; rename it")
    known = os.environ.get(TASKS_VARIABLE, "")
    # The environment reaches evaluations at once, too, which are processes of their own.
    os.environ[TASKS_VARIABLE] = os.pathsep.join(
        [*(str(folder.resolve()) for folder in folders), *filter(None, [known])]
    )


def _own_file(place: Path) -> Path:
    """Return the file of a folder's own submission, since a tree has been taken apart already."""
    file = place / SUBMISSION_FILE
    return file if file.is_file() else place
