"""Provider of answers from another run's journal: equal questions get equal answers, and no model is asked.

An answer costs as much as it did then, so that a replayed run spends its budget as the first one did.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from robust_kbench.agents.journal import JOURNAL
from robust_kbench.agents.providers import outside
from robust_kbench.agents.providers.protocol import ProviderError, Reply, Request
from robust_kbench.errors import SpecError, UsageError

_REPLY = TypeAdapter(Reply)


class Replay:
    """Answers in a journal, by the request's digest. The journal is only read, also while another process writes it."""

    def __init__(self, place: Path) -> None:
        """Read the journal at `place`, which may be the folder of a run. Raises UsageError and SpecError."""
        self._file = place / JOURNAL if place.is_dir() else place
        self._replies: dict[str, Reply] = {}
        self._silences: dict[str, str] = {}
        models: dict[str, None] = {}
        for number, event in self._events():
            try:
                if event["event"] == "call":
                    self._replies[event["digest"]] = _checked(event["reply"])
                    models[str(event["request"]["model"])] = None
                elif event["event"] == "silence" and "digest" in event:
                    self._silences[event["digest"]] = str(event["message"])
            except (KeyError, TypeError, ValueError):
                raise SpecError(f"{self._file}:{number}: not an event of a journal") from None
        self.models: Sequence[str] = tuple(models)
        """Models that were asked then, by the names that requests give them."""
        if not self._replies:
            raise UsageError(f"--llm replay: {self._file}: holds no answers")

    def complete(self, request: Request) -> Reply:
        """Return the answer that this request got then. Raises ProviderError.

        The error is final when this was not asked then; it is not when no answer came then.
        """
        digest = request.digest
        if digest in self._replies:
            return self._replies[digest]
        if digest in self._silences:
            raise ProviderError(f"replay: {outside.told(self._silences[digest])}")
        what = f"what the role {request.role} is asked now ({digest})"
        remedy = "replay it with the task, start, agent, seed, models and release of its run"
        raise ProviderError(f"replay: {self._file} does not hold {what}; {remedy}", is_final=True)

    def _events(self) -> Iterator[tuple[int, Any]]:
        """Yield each event with the number of its line. A torn last line counts as not there."""
        try:
            *lines, _ = self._file.read_bytes().split(b"\n")
        except OSError as error:
            raise UsageError(f"--llm replay: {self._file}: {error.strerror}") from None
        for number, line in enumerate(lines, 1):
            try:
                yield number, json.loads(line)
            except (ValueError, RecursionError):
                raise SpecError(f"{self._file}:{number}: not an event of a journal") from None


def _checked(reply: Any) -> Reply:
    """Check a reply of a journal, which others may have written. Raises ValueError."""
    found = _REPLY.validate_json(json.dumps(reply), strict=True)
    return dataclasses.replace(
        found,
        model=outside.told(found.model),
        input_tokens=outside.count(found.input_tokens),
        output_tokens=outside.count(found.output_tokens),
        usd=outside.dollars(found.usd),
    )
