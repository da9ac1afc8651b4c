"""Lookup of the run that a row publishes, and of the record of a run, read again from its line."""

from __future__ import annotations

from typing import Any

from robust_kbench.errors import KBenchError
from robust_kbench.leaderboard.reading import Place, parse_line, read_line
from robust_kbench.leaderboard.rows import Row
from robust_kbench.leaderboard.summary import Summary
from robust_kbench.schema.record import RunRecord


def run_of(row: Row) -> tuple[Any, ...]:
    """Return the key of a row's run and of the line that tells it.

    Copies of that line in several stores have one key.
    """
    is_altered = row["standing"].startswith("altered")
    return (
        row["task"],
        row["submission_digest"],
        row["device"],
        row["seed"],
        row["started_at"],
        row["record"],
        is_altered,
    )


def key_of(run: Summary) -> tuple[Any, ...]:
    """Return the key of a summary, equal to that of its row by `run_of`."""
    about = run.task, run.submission_digest, run.device, run.seed, run.started_at
    return *about, run.digest, run.intact is False


def load_record(place: Place) -> RunRecord | None:
    """Read the record at a place; None if the file has changed meanwhile, or cannot be read any more."""
    try:
        return parse_line(read_line(place), f"{place.path.name}:{place.number}")
    except (KBenchError, OSError, ValueError, RecursionError):
        return None
