"""A folder of questions, answered by anybody: a person, a script, another machine.

`ROLE-DIGEST.json` in `inbox/` is a question, complete as soon as it has this name; `ROLE-DIGEST.md` in `outbox/` is
its answer, best put there by renaming: a file that is empty, or still grows, is no answer yet. Questions that were
answered before are not put again, so a folder serves the same run a second time.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict
from pathlib import Path
from threading import get_ident

from robust_kbench.agents.providers import outside
from robust_kbench.agents.providers.protocol import ProviderError, Reply, Request
from robust_kbench.errors import UsageError

NAME = "mailbox"


class Mailbox:
    """Waits for an answer as long as it takes, or `timeout_s`; may be used from several threads."""

    def __init__(self, folder: Path, *, timeout_s: float = 24 * 3600.0, poll_s: float = 0.2) -> None:
        """Raises UsageError where there can be no such folder."""
        self._inbox, self._outbox = folder / "inbox", folder / "outbox"
        self._timeout_s, self._poll_s = timeout_s, poll_s
        try:
            for each in (self._inbox, self._outbox):
                each.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"--llm mailbox: {folder}: {error.strerror}") from None

    def complete(self, request: Request) -> Reply:
        """Raises ProviderError when nobody answers in time, or too much."""
        started = time.monotonic()
        name = f"{request.role}-{request.digest}"
        file = self._outbox / f"{name}.md"
        if _stamp(file) is None:
            self._put(name, request)
        before = None
        while (now := _stamp(file)) is None or now != before:
            if time.monotonic() - started > self._timeout_s:
                raise ProviderError(f"{file}: nobody has answered in {self._timeout_s:g} s")
            before = now
            time.sleep(self._poll_s)
        return Reply(_read(file), NAME, seconds=time.monotonic() - started)

    def _put(self, name: str, request: Request) -> None:
        question = {"answer": f"outbox/{name}.md", **asdict(request)}
        unfinished = self._inbox / f".{name}.{os.getpid()}.{get_ident()}"
        try:
            unfinished.write_text(
                json.dumps(question, indent=1, ensure_ascii=False), encoding="utf-8", errors="replace"
            )
            unfinished.replace(self._inbox / f"{name}.json")
        except OSError as error:
            raise ProviderError(f"{self._inbox}: {error.strerror}", is_final=True) from None


def _stamp(file: Path) -> tuple[int, int] | None:
    """Size and time of a file with something in it; None for anything else."""
    try:
        status = file.stat()
    except OSError:
        return None
    return (status.st_size, status.st_mtime_ns) if file.is_file() and status.st_size else None


def _read(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            data = opened.read(outside.MAX_ANSWER_BYTES)
        return outside.answer(data.decode(errors="replace"))
    except OSError as error:
        raise ProviderError(f"{file}: {error.strerror}") from None
    except ProviderError as error:
        raise ProviderError(f"{file}: {error}") from None
