"""Provider of replies that a test, or a rule, has written. No language model is asked."""

from __future__ import annotations

from collections.abc import Callable

from robust_kbench.agents.providers.protocol import Reply, Request

Script = Callable[[Request], str]


class Scripted:
    """Provider that answers by `script`, in no time and at no cost."""

    def __init__(self, script: Script, model: str = "scripted") -> None:
        self._script, self._model = script, model

    def complete(self, request: Request) -> Reply:
        """Return the script's answer to the request; a token is a word."""
        text = self._script(request)
        asked = sum(len(message.text.split()) for message in request.messages)
        return Reply(text, self._model, asked, len(text.split()), 0.0)
