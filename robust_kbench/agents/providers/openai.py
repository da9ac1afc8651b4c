"""Provider for any endpoint with OpenAI's chat protocol: the `openai` package, which the extra `agent` installs.

The key and the address come from OPENAI_API_KEY and OPENAI_BASE_URL. The package asks again after 408, 409, 429, 5xx
and broken connections, after as long as the server wants. The response is not trusted: we read it ourselves, within
limits of size and time, and cut our key out of it.
"""

from __future__ import annotations

import importlib
import json
import os
import time
from collections.abc import Iterable
from typing import Any

from robust_kbench.agents.providers import outside
from robust_kbench.agents.providers.protocol import ProviderError, Reply, Request
from robust_kbench.errors import UsageError

KEY = "OPENAI_API_KEY"
_FINAL = frozenset({401, 402, 403, 404})
_NO_MORE_MONEY = "insufficient_quota"
_UNTUNED = ("temperature", "max_tokens", "seed")


class OpenAI:
    """Provider that asks one endpoint; may be used from several threads.

    With `is_tuned`, requests have a temperature and a seed. Some models refuse both, and then choose for themselves.
    """

    def __init__(self, *, is_tuned: bool = True, timeout_s: float = 600.0, retries: int = 5) -> None:
        """Open a client. `timeout_s` is for each attempt. Raises UsageError without the package or a key."""
        try:
            openai: Any = importlib.import_module("openai")
        except ImportError:
            raise UsageError("--llm openai: pip install 'robust-kbench[agent]' installs what it needs") from None
        self._key = os.environ.get(KEY, "")
        if not self._key:
            raise UsageError(f"--llm openai: set {KEY}; for a server that wants no key, {KEY}=none")
        self.is_tuned = is_tuned
        self._package, self._timeout_s = openai, timeout_s
        self._client = openai.OpenAI(api_key=self._key, timeout=timeout_s, max_retries=retries)

    def complete(self, request: Request) -> Reply:
        """Send the request and return the reply. Raises ProviderError."""
        started = time.monotonic()
        try:
            body, attempts = self._response(request)
            return self._reply(body, request, attempts, time.monotonic() - started)
        except ProviderError as error:
            raise ProviderError(f"openai: {error}", is_final=error.is_final) from None

    def _response(self, request: Request) -> tuple[bytes, int]:
        """Return the body of the response, and the number of attempts."""
        try:
            create = self._client.chat.completions.with_streaming_response.create
            with create(**_parameters(request, is_tuned=self.is_tuned)) as response:
                return _read(response.iter_bytes(), self._timeout_s), getattr(response, "retries_taken", 0) + 1
        except ProviderError:
            raise
        except self._package.APIStatusError as error:
            raise self._refusal(error) from None
        except Exception as error:  # of the package, or of the transport below it, which depends on the release
            raise ProviderError(f"{type(error).__name__}: {self._told(error)}") from None

    def _refusal(self, error: Any) -> ProviderError:
        words = self._told(error)
        is_final = error.status_code in _FINAL or outside.at(error.body, "code") == _NO_MORE_MONEY
        if self.is_tuned and error.status_code in (400, 422) and any(name in words for name in _UNTUNED):
            words += "; a model that takes no temperature is openai-plain:MODEL"
        return ProviderError(f"status {error.status_code}: {words}", is_final=is_final)

    def _reply(self, body: bytes, request: Request, attempts: int, seconds: float) -> Reply:
        text = body.decode(errors="replace")
        try:
            document = json.loads(text)
        except (ValueError, RecursionError):
            raise ProviderError(f"an answer that is no JSON: {self._told(text)}") from None
        if outside.at(document, "choices", 0, "finish_reason") == "length":
            raise ProviderError(f"the answer was cut off after {request.max_tokens} tokens")
        usage, model = outside.at(document, "usage"), outside.at(document, "model")
        return Reply(
            outside.answer(outside.at(document, "choices", 0, "message", "content"), (self._key,)),
            self._told(model if isinstance(model, str) and model.strip() else request.model),
            outside.count(outside.at(usage, "prompt_tokens")),
            outside.count(outside.at(usage, "completion_tokens")),
            outside.dollars(outside.at(usage, "cost")),  # some gateways tell it
            seconds,
            attempts,
        )

    def _told(self, words: object) -> str:
        return outside.told(words, (self._key,))


def _parameters(request: Request, *, is_tuned: bool) -> dict[str, Any]:
    """Return the parameters of a request, for any release of the package.

    The settings go by their names in the protocol, whichever of them a release knows. Models that take no temperature
    know the limit under its newer name alone, and many servers under the older one.
    """
    messages = [{"role": message.role, "content": message.text} for message in request.messages]
    settings: dict[str, Any] = {"max_completion_tokens": request.max_tokens}
    if is_tuned:
        settings = {"temperature": request.temperature, "max_tokens": request.max_tokens, "seed": request.seed}
    told = {name: value for name, value in settings.items() if value is not None}
    return {"model": request.model, "messages": messages, "extra_body": told}


def _read(parts: Iterable[bytes], timeout_s: float) -> bytes:
    """Read the whole body, within limits of size and time. The package bounds only the time between two parts."""
    deadline = time.monotonic() + timeout_s
    body = bytearray()
    for part in parts:
        body += part
        if len(body) > outside.MAX_ANSWER_BYTES:
            raise ProviderError(f"an answer of more than {outside.MAX_ANSWER_BYTES:,} bytes")
        if time.monotonic() > deadline:
            raise ProviderError(f"an answer that takes longer than {timeout_s:.0f} s to arrive")
    return bytes(body)
