"""Stores to one store, without duplicates. No line is rewritten, so that digests and signatures stay what they are.

Two lines are the same record if their contents are, whatever digest they claim: nobody keeps a record out by putting
its digest on another one. Only places are kept in memory, since stores hold gigabytes.
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
    """What came of it: records that the store holds now, how many are new there, and how many lines were none."""

    records: int
    added: int
    duplicates: int
    confirmations: int
    problems: list[Problem]


@dataclass(frozen=True, slots=True)
class _Entry:
    """A readable line: where it stands, what it is ordered by, who vouches for it, and the digest of its bytes."""

    place: Place
    started_at: str
    digest: str
    intact: bool | None
    signer: str
    line_digest: bytes

    def order(self, target: Path) -> tuple[Any, ...]:
        """By time. Of one moment, what `target` holds comes first and as it is: nobody gets before it."""
        is_new = self.place.path != target
        return self.started_at, is_new, 0 if is_new else self.place.number, self.digest, self.signer


def merge(stores: Sequence[Path], into: Path) -> Merged:
    """Add to `into`, which may exist already, all records of `stores` that it lacks, and put them in order of time.

    Merging again changes nothing. A broken line is left out; `into` must have none, or nothing is done: SpecError.
    Confirmations beside the stores are united beside `into`.
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
    """What this kbench cannot read in the store that it writes may be a record of a newer one."""
    for problem in problems:
        if problem.what != TORN:
            raise SpecError(f"{problem.where}: {problem.what}; repair it, or merge into another file")


def _union(found: Iterable[_Entry]) -> list[_Entry]:
    copies: dict[str, list[_Entry]] = {}
    for each in found:
        copies.setdefault(each.digest, []).append(each)
    return [each for same in copies.values() for each in _vouched(same)]


def _vouched(copies: Iterable[_Entry]) -> list[_Entry]:
    """One for each signer; where nobody has signed, one with its digest, then one without, then one that lies."""
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
    """How many there are. Added at the end: a line beside `target` that this kbench cannot read stays."""
    loaded = confirmation.load(stores)
    problems += loaded.problems
    file = confirmation.beside(target)
    known = confirmation.read([file]).found if file.exists() else []
    for each in loaded.found:
        if each not in known:
            confirmation.append(file, each)
    return len(loaded.found)
