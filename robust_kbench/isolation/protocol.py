"""Answers of the worker, strictly parsed. Everything in them is a claim."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter, ValidationError

from robust_kbench.schema.documents import Strict

_Text = Annotated[str, Field(max_length=4000)]
_MOST_CLAIMS = 256
_Word = Annotated[int, Field(ge=0, lt=2**63)]


class Claim(Strict):
    """Claim of one tensor that a kernel of abi value returned."""

    type: _Text
    dtype: _Text = ""
    device: _Text = ""
    shape: tuple[_Word, ...] = Field(default=(), max_length=16)
    stride: tuple[_Word, ...] = Field(default=(), max_length=16)
    pointer: _Word | None = None
    source: _Word | None = None
    """Address in a burst before the worker has copied the tensor to `pointer`."""


class Place(Strict):
    """Place of a finding of the emulator: a line, or an offset in the artefact."""

    file: _Text = ""
    line: _Word = 0
    offset: _Word | None = None


_Position = tuple[_Word, _Word, _Word]


class OtherEnd(Strict):
    """Earlier one of the two accesses of a race."""

    place: Place
    block: _Position
    thread: _Position


class Reported(Strict):
    """Finding of the emulator's checker, which lives in the worker."""

    kind: _Text
    message: _Text
    kernel: _Text
    count: _Word
    place: Place
    block: _Position | None = None
    thread: _Position | None = None
    other: OtherEnd | None = None


_Reports = Annotated[tuple[Reported, ...], Field(max_length=16)]


class Loaded(Strict):
    """Answer that the submission was imported."""

    nonce: int
    outcome: Literal["loaded"]


class Returned(Strict):
    """Answer that the kernel returned. On a CUDA device the pointers of `outputs` are offsets in the judge's memory."""

    nonce: int
    outcome: Literal["returned"]
    outputs: tuple[Claim, ...] = Field(max_length=_MOST_CLAIMS)
    reports: _Reports = ()


class Raised(Strict):
    """Answer that an exception left the submission's code."""

    nonce: int
    outcome: Literal["raised"]
    type: _Text
    message: _Text
    where: _Text
    reports: _Reports = ()

    def __str__(self) -> str:
        place = f" at {self.where}" if self.where else ""
        return f"raised {self.type}{place}: {self.message}"


Answer = Loaded | Returned | Raised
_ADAPTER: TypeAdapter[Answer] = TypeAdapter(Annotated[Answer, Field(discriminator="outcome")])


def parse_answer(body: bytes, nonce: int) -> Answer:
    """Parse an answer. Raises ValueError when `body` is not an answer to the request `nonce`."""
    try:
        answer = _ADAPTER.validate_json(body)
    except ValidationError as error:
        raise ValueError(f"not an answer: {error.errors()[0]['msg']}") from None
    if answer.nonce != nonce:
        raise ValueError("an answer to another request")
    return answer
