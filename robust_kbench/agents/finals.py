"""Final judging of a run: its best kernel, and the start beside it, on cases of seeds that are drawn only then."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from robust_kbench import store
from robust_kbench.agents.judging import Judges, judge_finally
from robust_kbench.agents.sharing import Shared
from robust_kbench.errors import HarnessError
from robust_kbench.registry import read_submission
from robust_kbench.schema.record import RunRecord, Tier
from robust_kbench.schema.submission import Submission
from robust_kbench.signing import host_key, seal

_PARTIAL = ".final.jsonl"
"""File that keeps each record as soon as there is one. It gets its final name when all are there."""


def due(folder: Path, names: Sequence[str]) -> dict[str, Submission]:
    """Return the named submissions in `folder` that have no record yet."""
    kept = folder / _PARTIAL
    judged = {record.submission for record in store.read(kept)} if kept.exists() else set()
    return {name: read_submission(folder / name) for name in names if name not in judged}


def judge(folder: Path, names: Sequence[str], device: str, tier: Tier, among: Shared | None) -> None:
    """Judge the submissions that are `due`. `among` is the place where other runs keep records.

    Raises HarnessError where the process that judged a submission has ended each time.
    """
    left, kept, key = due(folder, names), folder / _PARTIAL, host_key()
    kept.touch()
    if not left:
        return
    with Judges(device) as judges:
        for name, record in _records(judges, left, tier, among):
            if record is None:
                remedy = "resume the run to try again"
                raise HarnessError(f"{folder / name}: the process that judged it has ended, each time; {remedy}")
            store.append(kept, seal(record, key))


def judge_for_all(submission: Submission, device: str, tier: Tier, among: Shared) -> None:
    """Judge a submission that no other run has judged, and share its record. A harness failure is not kept."""
    with Judges(device) as judges:
        list(among.finals(judges, {submission.name: submission}, tier))


def keep(folder: Path, final: Path) -> None:
    """Give the file of records its final name, when all records are there."""
    (folder / _PARTIAL).replace(final)


def _records(
    judges: Judges, due: Mapping[str, Submission], tier: Tier, among: Shared | None
) -> Iterator[tuple[str, RunRecord | None]]:
    if among is not None:
        return among.finals(judges, due, tier)
    return judges.each(partial(judge_finally, tier=tier), due)
