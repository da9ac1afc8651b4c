"""The worker's answers, strictly parsed. Everything in them is a claim."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter, ValidationError

from robust_kbench.schema.documents import Strict

_Text = Annotated[str, Field(max_length=4000)]
_Word = Annotated[int, Field(ge=0, lt=2**63)]


class Claim(Strict):
    """One tensor that a kernel of abi value says it returned."""

    type: _Text
    dtype: _Text = ""
    device: _Text = ""
    shape: tuple[_Word, ...] = Field(default=(), max_length=16)
    stride: tuple[_Word, ...] = Field(default=(), max_length=16)
    pointer: _Word | None = None


class Loaded(Strict):
    """The submission was imported."""

    nonce: int
    outcome: Literal["loaded"]


class Returned(Strict):
    """The kernel returned; `event_ns` is the worker's own time on a CUDA device."""

    nonce: int
    outcome: Literal["returned"]
    outputs: tuple[Claim, ...] = Field(max_length=16)
    event_ns: _Word | None = None


class Raised(Strict):
    """An exception left the submission's code."""

    nonce: int
    outcome: Literal["raised"]
    type: _Text
    message: _Text
    where: _Text

    def __str__(self) -> str:
        place = f" at {self.where}" if self.where else ""
        return f"raised {self.type}{place}: {self.message}"


Answer = Loaded | Returned | Raised
_ADAPTER: TypeAdapter[Answer] = TypeAdapter(Annotated[Answer, Field(discriminator="outcome")])


def parse_answer(body: bytes, nonce: int) -> Answer:
    """Raises ValueError when `body` is not an answer to the request `nonce`."""
    try:
        answer = _ADAPTER.validate_json(body)
    except ValidationError as error:
        raise ValueError(f"not an answer: {error.errors()[0]['msg']}") from None
    if answer.nonce != nonce:
        raise ValueError("an answer to another request")
    return answer
