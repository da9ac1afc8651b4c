"""The append-only record of a run: a line of JSON for each finished call and evaluation. To resume is to replay it.

Each line is on disk before anything is built on it. A torn last line, as kill -9 leaves it, is cut off. Calls and
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


class Journal:
    """Of one run, which one process at a time may write; use it as a context manager."""

    def __init__(self, file: Path) -> None:
        """Opens or creates `file`. Raises UsageError while somebody else writes it, SpecError for a broken line."""
        self._file = file
        self._descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        self._lock = Lock()
        try:
            self._take()
            self._read()
        except BaseException:
            os.close(self._descriptor)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._descriptor)

    def _take(self) -> None:
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(f"{self._file}: this run is going on in another process; wait for it, or end it") from None

    def _read(self) -> None:
        text = self._file.read_bytes()
        *lines, torn = text.split(b"\n")
        if torn:
            os.ftruncate(self._descriptor, len(text) - len(torn))
        self.events = [self._parsed(line, number) for number, line in enumerate(lines, 1)]
        heard = self.events[: _end_of_what_counts(self.events)]
        self._calls = {event["id"]: event for event in heard if event["event"] in ("call", "silence")}
        self._judged = {event["id"]: event for event in self.events if event["event"] == "judged"}

    def _parsed(self, line: bytes, number: int) -> dict[str, Any]:
        try:
            event: dict[str, Any] = json.loads(line)
            if not isinstance(event["event"], str):
                raise TypeError
        except (ValueError, KeyError, TypeError, RecursionError):
            raise SpecError(f"{self._file}:{number}: not an event of a journal") from None
        return event

    def write(self, event: str, **facts: Any) -> None:
        """One more line; returns when it is on disk."""
        line = json.dumps({"event": event, **facts}, ensure_ascii=False, separators=(",", ":"))
        data = line.encode(errors="replace") + b"\n"
        with self._lock:
            if os.write(self._descriptor, data) != len(data):
                raise OSError(f"{self._file}: could not be written; is the disk full?")
            os.fsync(self._descriptor)

    def begin(self, configuration: Mapping[str, Any]) -> None:
        """Note what the run is; if it is resumed, hold it against what was noted. Raises UsageError if they differ."""
        noted = next((event["run"] for event in self.events if event["event"] == "start"), None)
        wanted = json.loads(json.dumps(configuration))
        if noted is None:
            self.write("start", run=wanted)
        elif noted != wanted:
            changed = sorted(key for key in {*noted, *wanted} if noted.get(key) != wanted.get(key))
            raise UsageError(f"{self._file}: was begun with another {', '.join(changed)}; start a new run instead")

    def reply(self, identity: str, request: Request) -> Reply | None:
        """What was answered before. Raises ProviderError if nothing was, UsageError when something else was asked."""
        event = self._calls.get(identity)
        if event is None:
            return None
        if event["event"] == "silence":
            raise ProviderError(event["message"])
        if event["digest"] != request.digest:
            raise UsageError(f"{self._file}: call {identity} asked something else then; this is another kbench, or run")
        return Reply(**event["reply"])

    def note_reply(self, identity: str, request: Request, reply: Reply) -> None:
        """A call has ended."""
        self.write("call", id=identity, digest=request.digest, request=asdict(request), reply=asdict(reply))

    def note_silence(self, identity: str, message: str) -> None:
        """A call has ended without a usable answer."""
        self.write("silence", id=identity, message=message[:500])

    def judged(self, identity: str, code_digest: str) -> Judged | None:
        """What the evaluator said before of this candidate."""
        event = self._judged.get(identity)
        if event is None or event["code"] != code_digest:
            return None
        facts: dict[str, Any] = {**event["judged"], "findings": tuple(event["judged"]["findings"])}
        if facts["median_us"] is None:
            facts["median_us"] = math.inf
        return Judged(**facts)

    def note_judged(self, identity: str, code_digest: str, judged: Judged) -> None:
        """An evaluation has ended."""
        facts = asdict(judged) | {"median_us": judged.median_us if math.isfinite(judged.median_us) else None}
        self.write("judged", id=identity, code=code_digest, judged=facts)


def _end_of_what_counts(events: Sequence[Mapping[str, Any]]) -> int:
    """Silences that ended a run are asked again when it is resumed; those that it went on after are part of it."""
    end = len(events)
    if end and events[-1]["event"] == "stop" and events[-1]["reason"] == "provider_error":
        while end and events[end - 1]["event"] in ("stop", "silence"):
            end -= 1
    return end
