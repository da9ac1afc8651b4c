"""Append-only record of a run: a line of JSON for each finished call and evaluation. A resumed run replays it.

Each line is on disk before any later step depends on it. A torn last line, as kill -9 leaves it, is cut off. Calls and
candidates are known by their place in the run ("g3.p1.code"), not by the order in which they ended.
"""

from __future__ import annotations

import fcntl
import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any, Self

from robust_kbench.agents.archive import Judged
from robust_kbench.agents.providers.protocol import ProviderError, Reply, Request
from robust_kbench.errors import SpecError, UsageError

JOURNAL = "journal.jsonl"
_PLACED = ("call", "silence", "judged")


class Journal:
    """Journal of one run, which one process at a time may write; use it as a context manager."""

    def __init__(self, file: Path) -> None:
        """Open or create `file`. Raises UsageError while another process writes it, SpecError for a broken line."""
        self._file, self._lock = file, Lock()
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        self._descriptor: int | None = descriptor
        try:
            self._take(descriptor)
            text = file.read_bytes()
            *lines, torn = text.split(b"\n")
            if torn:
                os.ftruncate(descriptor, len(text) - len(torn))
            self._load(lines)
        except BaseException:
            os.close(descriptor)
            raise

    @classmethod
    def reading(cls, file: Path) -> Self:
        """Read `file` without a lock and without a change, also while another process writes it.

        A missing file holds no events. Answers are found by their place alone, since prompts of another release may
        have other words. Raises SpecError for a broken line.
        """
        journal = cls.__new__(cls)
        journal._file, journal._lock, journal._descriptor = file, Lock(), None
        *lines, _ = file.read_bytes().split(b"\n") if file.exists() else [b""]
        journal._load(lines)
        return journal

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)

    def _take(self, descriptor: int) -> None:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(f"{self._file}: this run is going on in another process; wait for it, or end it") from None

    def _load(self, lines: Sequence[bytes]) -> None:
        self.events = [self._parsed(line, number) for number, line in enumerate(lines, 1)]
        # Who writes goes on, and asks again where nobody answered in the end; who only looks sees how it ended.
        heard = self.events if self._descriptor is None else _what_counts(self.events)
        self._calls = {event["id"]: event for event in heard if event["event"] in ("call", "silence")}
        self._judged = {event["id"]: event for event in self.events if event["event"] == "judged"}

    def _parsed(self, line: bytes, number: int) -> dict[str, Any]:
        try:
            event: dict[str, Any] = json.loads(line)
            if not isinstance(event["event"], str):
                raise TypeError
            if event["event"] in _PLACED and not isinstance(event["id"], str):
                raise TypeError
        except (ValueError, KeyError, TypeError, RecursionError):
            raise SpecError(f"{self._file}:{number}: not an event of a journal") from None
        return event

    @property
    def run(self) -> dict[str, Any] | None:
        """Facts that were noted of the run when it was begun; None where it was not begun."""
        return next((event["run"] for event in self.events if event["event"] == "start"), None)

    @property
    def stop(self) -> str | None:
        """Reason for the run's end, as found when this was opened; None where it was interrupted, or is going on."""
        last = self.events[-1] if self.events else {"event": ""}
        return str(last["reason"]) if last["event"] == "stop" else None

    def write(self, event: str, **facts: Any) -> None:
        """Append one more line, and return when it is on disk."""
        if self._descriptor is None:
            raise ValueError(f"{self._file}: was opened for reading")
        line = json.dumps({"event": event, **facts}, ensure_ascii=False, separators=(",", ":"))
        data = line.encode(errors="replace") + b"\n"
        with self._lock:
            if os.write(self._descriptor, data) != len(data):
                raise OSError(f"{self._file}: could not be written; is the disk full?")
            os.fsync(self._descriptor)

    def begin(self, configuration: Mapping[str, Any]) -> None:
        """Note the configuration of the run, or compare it with the noted one. Raises UsageError if they differ."""
        noted, wanted = self.run, json.loads(json.dumps(configuration))
        if noted is None:
            self.write("start", run=wanted)
        elif noted != wanted:
            changed = sorted(key for key in {*noted, *wanted} if noted.get(key) != wanted.get(key))
            raise UsageError(f"{self._file}: was begun with another {', '.join(changed)}; start a new run instead")

    def reply(self, identity: str, request: Request) -> Reply | None:
        """Return the answer that the call got before; None for a call that has not ended.

        Raises ProviderError if the call got no answer, and UsageError when something else was asked.
        """
        event = self._calls.get(identity)
        if event is None:
            return None
        if event["event"] == "silence":
            raise ProviderError(event["message"], is_final=bool(event.get("is_final")))
        if event["digest"] != request.digest and self._descriptor is not None:
            raise UsageError(f"{self._file}: call {identity} asked something else then; this is another kbench, or run")
        return Reply(**event["reply"])

    def note_reply(self, identity: str, request: Request, reply: Reply) -> None:
        """Note that a call has ended with a reply."""
        self.write("call", id=identity, digest=request.digest, request=asdict(request), reply=asdict(reply))

    def note_silence(self, identity: str, request: Request, message: str, *, is_final: bool) -> None:
        """Note that a call has ended without a usable answer."""
        self.write("silence", id=identity, digest=request.digest, message=message[:500], is_final=is_final)

    def judged(self, identity: str, code_digest: str) -> Judged | None:
        """Return the earlier verdict of the evaluator on this candidate and code; None where there is none."""
        event = self._judged.get(identity)
        if event is None or event["code"] != code_digest:
            return None
        return from_json(event["judged"])

    def note_judged(self, identity: str, code_digest: str, judged: Judged) -> None:
        """Note that an evaluation has ended with a verdict."""
        self.write("judged", id=identity, code=code_digest, judged=as_json(judged))


def as_json(judged: Judged) -> dict[str, Any]:
    """Return a verdict as JSON has it. JSON knows no infinity, so that an infinite median becomes None."""
    return asdict(judged) | {"median_us": judged.median_us if math.isfinite(judged.median_us) else None}


def from_json(facts: Mapping[str, Any]) -> Judged:
    """Return the verdict from its JSON form, the inverse of `as_json`."""
    median_us = math.inf if facts["median_us"] is None else facts["median_us"]
    lists = {name: tuple(facts.get(name, ())) for name in ("findings", "timed")}
    return Judged(**{**facts, **lists, "median_us": median_us})


def _what_counts(events: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Select the events that stay answered when a run is resumed.

    Silences that ended a run are left out, for they are asked again when it is resumed. Silences that the run went on
    after are part of it.
    """
    end = len(events)
    if end and events[-1]["event"] == "stop" and events[-1]["reason"] == "provider_error":
        while end and events[end - 1]["event"] in ("stop", "silence"):
            end -= 1
    return [event for event in events[:end] if not event.get("is_final")]
