"""From a row to the run that it publishes, and from a run to its record, read again from its line."""

from __future__ import annotations

from typing import Any

from robust_kbench.errors import KBenchError
from robust_kbench.leaderboard.reading import Place, parse_line, read_line
from robust_kbench.leaderboard.rows import Row
from robust_kbench.leaderboard.summary import Summary
from robust_kbench.schema.record import RunRecord


def run_of(row: Row) -> tuple[Any, ...]:
    """Which run a row publishes, by whose word: a line that stands in several stores is still one."""
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
    """The same of a summary."""
    about = run.task, run.submission_digest, run.device, run.seed, run.started_at
    return *about, run.digest, run.intact is False


def load_record(place: Place) -> RunRecord | None:
    """None where the file has changed meanwhile, or cannot be read any more."""
    try:
        return parse_line(read_line(place), f"{place.path.name}:{place.number}")
    except (KBenchError, OSError, ValueError, RecursionError):
        return None
