"""Merging of stores into one, without duplicates. No line is rewritten, so digests and signatures stay valid.

Two lines are the same record if their contents are, whatever digest they claim. So a line that claims the digest of a
record cannot keep that record out. Only places are kept in memory, since stores hold gigabytes.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from robust_kbench import store
from robust_kbench.errors import HarnessError, SpecError
from robust_kbench.leaderboard import confirmation
from robust_kbench.leaderboard.reading import TORN, Place, Problem, lines, parse_line, read_line
from robust_kbench.signing import digest_of, standing

_BEST_FIRST = {True: 0, None: 1, False: 2}


@dataclass(frozen=True)
class Merged:
    """Result of a merge: how many records the store holds now, how many are new, and which lines could not be read."""

    records: int
    added: int
    duplicates: int
    confirmations: int
    problems: list[Problem]


@dataclass(frozen=True, slots=True)
class _Entry:
    """Readable line: its place, the fields that order it, its signer, and the digest of its bytes."""

    place: Place
    started_at: str
    digest: str
    intact: bool | None
    signer: str
    line_digest: bytes

    def order(self, target: Path) -> tuple[Any, ...]:
        """Return the sort key, by time. At one moment the lines of `target` come first and stay in their order.

        So no new line gets before an old one.
        """
        is_new = self.place.path != target
        return self.started_at, is_new, 0 if is_new else self.place.number, self.digest, self.signer


def merge(stores: Sequence[Path], into: Path) -> Merged:
    """Add to `into`, which may exist already, all records of `stores` that it lacks, in order of time.

    Merging again changes nothing. A broken line of `stores` is left out. A broken line of `into`, other than a torn
    last one, raises SpecError, and nothing is done. Confirmations beside the stores are united beside `into`.
    """
    target = Path(os.path.realpath(into))
    others = [path for path in stores if Path(os.path.realpath(path)) != target]
    problems: list[Problem] = []
    with store.locked(target):
        own: list[Problem] = []
        before = list(_entries([target], own))
        _refuse_to_lose(own)
        found = [*before, *_entries(others, problems)]
        kept = sorted(_union(found), key=lambda each: each.order(target))
        if kept != before or own:
            store.replace(target, map(_line, kept))
    told = _merge_confirmations([*others, target], target, problems)
    added = sum(each.place.path != target for each in kept)
    return Merged(len(kept), added, len(found) - len(kept), told, problems)


def _entries(paths: Sequence[Path], problems: list[Problem]) -> Iterator[_Entry]:
    for place, line in lines(paths, problems):
        try:
            record = parse_line(line, place.where)
        except SpecError as error:
            problems.append(Problem.at(place.where, error))
            continue
        stands = standing(record, line)
        signer, content = stands.signer or "", hashlib.sha256(line).digest()
        yield _Entry(place, record.started_at, digest_of(record), stands.intact, signer, content)


def _refuse_to_lose(problems: Iterable[Problem]) -> None:
    """Raise SpecError for a line of the target that cannot be read: it may be a record of a newer kbench."""
    for problem in problems:
        if problem.what != TORN:
            raise SpecError(f"{problem.where}: {problem.what}; repair it, or merge into another file")


def _union(found: Iterable[_Entry]) -> list[_Entry]:
    copies: dict[str, list[_Entry]] = {}
    for each in found:
        copies.setdefault(each.digest, []).append(each)
    return [each for same in copies.values() for each in _vouched(same)]


def _vouched(copies: Iterable[_Entry]) -> list[_Entry]:
    """Select one copy for each signer.

    If no copy is signed, select one with its digest, else one without, else one with a wrong digest.
    """
    ordered = sorted(copies, key=lambda each: (_BEST_FIRST[each.intact], each.line_digest))
    signed: dict[str, _Entry] = {}
    for each in ordered:
        if each.signer:
            signed.setdefault(each.signer, each)
    return list(signed.values()) or ordered[:1]


def _line(entry: _Entry) -> bytes:
    line = read_line(entry.place)
    if hashlib.sha256(line).digest() != entry.line_digest:
        raise HarnessError(f"{entry.place.where}: was changed while it was read; merge again")
    return line.strip() + b"\n"


def _merge_confirmations(stores: Sequence[Path], target: Path, problems: list[Problem]) -> int:
    """Append the missing confirmations beside `target`, and return how many there are.

    An unreadable line beside `target` stays, as lines are only added at the end.
    """
    loaded = confirmation.load(stores)
    problems += loaded.problems
    file = confirmation.beside(target)
    known = confirmation.read([file]).found if file.exists() else []
    for each in loaded.found:
        if each not in known:
            confirmation.append(file, each)
    return len(loaded.found)
