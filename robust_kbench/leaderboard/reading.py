"""Lines of stores that anybody may have written. A line that cannot be read is reported, and costs no other line.

`store.read` is strict, which suits a store of one's own. A leaderboard collects those of strangers.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import RawIOBase
from pathlib import Path
from typing import Self

from robust_kbench.errors import SpecError, UsageError
from robust_kbench.schema.documents import shown
from robust_kbench.schema.record import MAX_RECORD_BYTES
from robust_kbench.store import parse_line

__all__ = ["CONFIRMATIONS", "TORN", "Place", "Problem", "lines", "parse_line", "places", "read_line", "stores"]

CONFIRMATIONS = "confirmations.jsonl"
_NO_STORES = {CONFIRMATIONS, "journal.jsonl", ".final.jsonl"}  # the others belong to a run of `kbench evolve`
TORN = "the last line has no end: its writer was killed, or is still writing"
_MAX_WORDS = 300
_BLOCK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Place:
    """Place of a line: bytes from the start of the file, length without the newline, and number from 1."""

    path: Path
    offset: int
    length: int
    number: int

    @property
    def where(self) -> str:
        """Place in the form `path:line`, which editors take."""
        return f"{self.path}:{self.number}"


@dataclass(frozen=True, slots=True)
class Problem:
    """Problem of reading a file or a line, in text that cannot steer a terminal or a page."""

    where: str
    what: str

    @classmethod
    def at(cls, where: str, what: Exception | str) -> Self:
        """Make a problem. `what` may begin with `where`, as our errors do."""
        return cls(shown(where), shown(str(what).removeprefix(f"{where}: "))[:_MAX_WORDS])


def stores(paths: Sequence[Path]) -> list[Path]:
    """List files as they are named, and all stores below folders, each once.

    Raises UsageError for a path that does not exist, or if no store is found.
    """
    found: dict[str, Path] = {}
    for path in paths:
        if not path.exists():
            raise UsageError(f"{path}: No such file or directory")
        for each in _stores_below(path) if path.is_dir() else [path]:
            found.setdefault(os.path.realpath(each), each)
    if not found:
        raise UsageError(f"{', '.join(map(str, paths))}: no store (*.jsonl) found")
    return list(found.values())


def _stores_below(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*.jsonl") if path.is_file() and path.name not in _NO_STORES)


def lines(paths: Sequence[Path], problems: list[Problem] | None = None) -> Iterator[tuple[Place, bytes]]:
    """Yield every line of every file, in order, one at a time in memory. Failures are added to `problems`."""
    told: list[Problem] = [] if problems is None else problems
    for place in places(paths, told):
        try:
            yield place, read_line(place)
        except SpecError as error:
            told.append(Problem.at(place.where, error))


def places(paths: Sequence[Path], problems: list[Problem]) -> Iterator[Place]:
    """Yield the place of every line of every file, in order. Failures are added to `problems`."""
    for path in paths:
        try:
            if not path.is_file():
                raise SpecError("not a regular file" if path.exists() else "No such file or directory")
            with path.open("rb", buffering=0) as file:
                yield from _places(path, file, problems)
        except SpecError as error:
            problems.append(Problem.at(str(path), error))
        except OSError as error:
            problems.append(Problem.at(str(path), error.strerror or type(error).__name__))


def _places(path: Path, file: RawIOBase, problems: list[Problem]) -> Iterator[Place]:
    start = 0
    for number, (end, is_whole) in enumerate(_ends(file), start=1):
        length, where = end - start, f"{path}:{number}"
        if length > MAX_RECORD_BYTES:
            problems.append(Problem.at(where, f"{length:,} bytes; a record has at most {MAX_RECORD_BYTES:,}"))
        elif not is_whole:
            problems.append(Problem.at(where, TORN))
        else:
            yield Place(path, start, length - 1, number)
        start = end


def _ends(file: RawIOBase) -> Iterator[tuple[int, bool]]:
    """Yield the end of each line, and True if a newline ends it; only the last line may lack one."""
    block = bytearray(_BLOCK_BYTES)
    offset = end = 0
    while size := file.readinto(block) or 0:
        at = block.find(b"\n", 0, size)
        while at >= 0:
            end = offset + at + 1
            yield end, True
            at = block.find(b"\n", at + 1, size)
        offset += size
    if end < offset:
        yield offset, False


def read_line(place: Place) -> bytes:
    """Read the line again. Raises SpecError if it is not there any longer."""
    try:
        with place.path.open("rb", buffering=0) as file:
            line = os.pread(file.fileno(), place.length, place.offset)
    except OSError as error:
        raise SpecError(f"{place.where}: {error.strerror}") from None
    if len(line) != place.length:
        raise SpecError(f"{place.where}: the file has become shorter meanwhile")
    return line
