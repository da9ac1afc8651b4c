"""Protocol between an agent and a language model: requests, replies and errors."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Literal, Protocol

from robust_kbench.errors import KBenchError


@dataclass(frozen=True)
class Message:
    """One turn of a conversation with a language model."""

    role: Literal["user", "assistant"]
    text: str


@dataclass(frozen=True)
class Request:
    """Request to a language model.

    `role` is the agent's name for the role that is asked. `seed` is a wish that few providers grant.
    """

    role: str
    model: str
    messages: tuple[Message, ...]
    temperature: float | None
    max_tokens: int
    seed: int

    @property
    def digest(self) -> str:
        """First 16 hex digits of the sha256 of the whole request."""
        text = json.dumps(asdict(self), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def most_prompt_tokens(self) -> int:
        """Upper bound on the prompt's tokens: no tokenizer makes more of a text than it has bytes."""
        return sum(len(message.text.encode()) for message in self.messages)

    @property
    def most_tokens(self) -> int:
        """Upper bound on the tokens of the prompt and the longest answer."""
        return self.most_prompt_tokens + self.max_tokens


@dataclass(frozen=True)
class Reply:
    """Reply of a language model. Counts that the provider does not tell are None, and so is an unknown price."""

    text: str
    model: str
    input_tokens: int | None = None
    output_tokens: int | None = None
    usd: float | None = None
    seconds: float = 0.0
    attempts: int = 1


class ProviderError(KBenchError):
    """Error of a language model that gave no usable answer, after all retries.

    `is_final`: it will give none to the next question, either.
    """

    def __init__(self, message: str, *, is_final: bool = False) -> None:
        super().__init__(message)
        self.is_final = is_final


class Provider(Protocol):
    """Provider of answers, one request at a time; may be called from several threads."""

    def complete(self, request: Request) -> Reply:
        """Return the reply to a request. Raises ProviderError."""
