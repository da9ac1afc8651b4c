"""Verdicts that the runs of a sweep share: a kernel is judged once on the same cases, whichever agent wrote it.

Otherwise each agent would pay for the kernels of the others again, and be told another time for each. Each kernel has a
file with one line. A process that asks while another one judges the kernel waits for that.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TypeVar

from robust_kbench.agents import journal
from robust_kbench.agents.archive import Judged
from robust_kbench.agents.judging import Judges, PublicJudge, judge_finally
from robust_kbench.schema.record import RunRecord, Status, Tier
from robust_kbench.schema.submission import Submission

Found = TypeVar("Found")
_NOT_KEPT = ""


class Shared:
    """Folder of verdicts and final records, for any number of processes. Failures of the harness are not kept."""

    def __init__(self, folder: Path, terms: Sequence[str]) -> None:
        """Make `folder`. `terms`: all that a judgement depends on besides the kernel, its cases and the tier."""
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._terms = folder, tuple(terms)

    def verdicts(self, judge: PublicJudge, named: Sequence[tuple[str, str]]) -> Iterator[tuple[str, Judged]]:
        """Yield verdicts as `judge` gives them, which is asked only about kernels without a shared verdict."""
        codes = dict(named)
        keys = {
            name: self._key("search", judge.form.submission(name, code), str(judge.seed))
            for name, code in codes.items()
        }  # fmt: skip

        def ask(names: Sequence[str]) -> Iterator[tuple[str, Judged]]:
            return judge([(name, codes[name]) for name in names])

        return self._each(keys, ask, _verdict_as_text, lambda text: journal.from_json(json.loads(text)))

    def finals(
        self, judges: Judges, due: Mapping[str, Submission], tier: Tier
    ) -> Iterator[tuple[str, RunRecord | None]]:
        """Yield records of the final judging; None as in `Judges.each`.

        They name no author, as several may have written the kernel. The submissions are judged one after the other, so
        that a run that needs only one of them does not wait for the rest.
        """

        def ask(names: Sequence[str]) -> Iterator[tuple[str, RunRecord | None]]:
            return judges.each(partial(judge_finally, tier=tier), {name: _anonymous(due[name]) for name in names})

        for name, submission in due.items():
            key = self._key(name, submission, tier)
            yield from self._each({name: key}, ask, _record_as_text, RunRecord.model_validate_json)

    def _key(self, purpose: str, submission: Submission, about: str) -> str:
        text = json.dumps([*self._terms, purpose, about, submission.digest])
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def _each(
        self,
        keys: Mapping[str, str],
        ask: Callable[[Sequence[str]], Iterable[tuple[str, Found]]],
        as_text: Callable[[Found], str],
        from_text: Callable[[str], Found],
    ) -> Iterator[tuple[str, Found]]:
        with ExitStack() as held:
            # In the order of their names, so that two who wait for each other's kernels cannot both wait for ever.
            places = {key: self._locked(key, held) for key in sorted(set(keys.values()))}
            texts = {name: _kept(places[key]) for name, key in keys.items()}
            for name, text in texts.items():
                if text:
                    yield name, from_text(text)
            if unknown := [name for name, text in texts.items() if not text]:
                for name, found in ask(unknown):
                    _keep(places[keys[name]], as_text(found))
                    yield name, found

    def _locked(self, key: str, held: ExitStack) -> int:
        descriptor = os.open(self._folder / key, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        held.callback(os.close, descriptor)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        return descriptor


def _kept(descriptor: int) -> str:
    """Return the kept text; empty where nothing was found, or where its writer was killed while writing it."""
    text = os.pread(descriptor, os.fstat(descriptor).st_size, 0).decode(errors="replace")
    return text if text.endswith("\n") else ""


def _keep(descriptor: int, text: str) -> None:
    data = f"{text}\n".encode(errors="replace") if text else b""
    os.ftruncate(descriptor, 0)
    if os.pwrite(descriptor, data, 0) != len(data):
        raise OSError("a verdict could not be written; is the disk full?")


def _anonymous(submission: Submission) -> Submission:
    return submission.model_copy(update={"file": submission.file.model_copy(update={"author": ""})})


def _verdict_as_text(judged: Judged) -> str:
    return _NOT_KEPT if judged.is_ours else json.dumps(journal.as_json(judged))


def _record_as_text(record: RunRecord | None) -> str:
    if record is None or record.status is Status.HARNESS_ERROR:
        return _NOT_KEPT
    return record.model_dump_json()
