"""What an agent wants of a language model, and what it gets."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Literal, Protocol

from robust_kbench.errors import KBenchError


@dataclass(frozen=True)
class Message:
    """One turn."""

    role: Literal["user", "assistant"]
    text: str


@dataclass(frozen=True)
class Request:
    """One question. `role` is the agent's word for who is asked; `seed` is a wish that few providers grant."""

    role: str
    model: str
    messages: tuple[Message, ...]
    temperature: float | None
    max_tokens: int
    seed: int

    @property
    def digest(self) -> str:
        """First 16 hex digits of the sha256 of all of it."""
        text = json.dumps(asdict(self), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def most_prompt_tokens(self) -> int:
        """No tokenizer makes more of a text than it has bytes."""
        return sum(len(message.text.encode()) for message in self.messages)

    @property
    def most_tokens(self) -> int:
        """Of the prompt and the longest answer."""
        return self.most_prompt_tokens + self.max_tokens


@dataclass(frozen=True)
class Reply:
    """One answer. Counts that the provider does not tell are None, and so is a price that nobody knows."""

    text: str
    model: str
    input_tokens: int | None = None
    output_tokens: int | None = None
    usd: float | None = None
    seconds: float = 0.0
    attempts: int = 1


class ProviderError(KBenchError):
    """A language model gave no usable answer, after all retries. `is_final`: nor will it to the next question."""

    def __init__(self, message: str, *, is_final: bool = False) -> None:
        super().__init__(message)
        self.is_final = is_final


class Provider(Protocol):
    """Answers one request at a time; may be called from several threads."""

    def complete(self, request: Request) -> Reply:
        """Raises ProviderError."""
