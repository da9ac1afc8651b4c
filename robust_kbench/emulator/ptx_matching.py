"""Search for the row in ptx_instructions that belongs to an opcode with its modifiers."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from robust_kbench.emulator.ptx_instructions import CHOICES, INSTRUCTIONS, TYPES


@dataclass(frozen=True)
class Row:
    """Instruction that was found: the C++ function with its template arguments, and the way to read its operands."""

    function: str
    arguments: tuple[str, ...]
    required: int
    has_destination: bool
    takes_carry: bool
    modifiers: frozenset[str]
    """Modifiers that the function leaves to its caller: ftz, sat, relu."""

    def accepts(self, operands: int) -> bool:
        """Tell if the instruction takes this number of sources."""
        return self.ignores_operands or self.required <= operands <= len(self.arguments)

    @property
    def ignores_operands(self) -> bool:
        """True if the instruction does the same whatever its sources are."""
        return self.arguments == ("...",)


_SPECIFIC = re.compile(r"(?P<d>d = )?(?P<name>\w+)(?:<(?P<template>.*)>)?\((?P<arguments>.*)\)")
_LEFT_TO_CALLER = frozenset({"ftz", "sat", "relu"})


def find(opcode: str) -> Row | None:
    """Return the row of an opcode with its modifiers; None when it is not emulated.

    The assembler takes modifiers in any order, so this function does, too. Only types must be in the manual's order.
    """
    name, *modifiers = opcode.replace("xorsign.abs", "xorsign_abs").split(".")
    for parts, call in _rows_of(name):
        found = _match(parts, modifiers)
        if found is not None:
            return _row(call, found)
    return None


@dataclass(frozen=True)
class _Part:
    """Part `.word`, `{.word}` or `{.word*}` of a pattern; `word` is `T` for a set of types."""

    word: str
    spellings: frozenset[str]
    optional: bool
    repeats: bool

    @property
    def varies(self) -> bool:
        return self.optional or len(self.spellings - {""}) > 1


@cache
def _rows_of(name: str) -> list[tuple[list[_Part], str]]:
    rows = []
    for pattern, call in INSTRUCTIONS:
        first, *words = pattern.replace("}", "").replace("{.", ".?").split(".")
        if first == name:
            rows.append(([_part(word) for word in words], call))
    return rows


def _part(text: str) -> _Part:
    word = text.strip("?*")
    spellings = TYPES[word].split() if word in TYPES else CHOICES.get(word, [word])
    return _Part("T" if word in TYPES else word, frozenset(spellings), "?" in text, "*" in text)


def _match(parts: Sequence[_Part], modifiers: Sequence[str]) -> dict[str, str] | None:
    """Return the spelling of each part that varies; None if it does not match. A repeated word keeps its spelling."""
    left = list(modifiers)
    found: dict[str, str] = {}
    for part in parts:
        spellings = {found[part.word]} if part.word in found else part.spellings
        taken = [modifier for modifier in left if modifier in spellings or part.word == "rest"]
        if not taken and not part.optional:
            return None
        if part.varies:
            found.setdefault(part.word, taken[0] if taken else "")
        for modifier in taken if part.repeats else taken[:1]:
            left.remove(modifier)
    return None if left else found


def _row(call: str, found: Mapping[str, str]) -> Row:
    match = _SPECIFIC.fullmatch(call)
    assert match is not None, call
    template = match["template"] or ""
    arguments = match["arguments"].split(", ") if match["arguments"] else []
    takes_carry = arguments[-1:] == ["carry"]
    arguments = arguments[: len(arguments) - takes_carry]
    function = match["name"] + (f"<{_filled(template, found)}>" if template else "")
    used = set(re.findall(r"\w+", template))
    return Row(
        function=function,
        arguments=tuple(_filled(argument.rstrip("?"), found) for argument in arguments),
        required=sum(not argument.endswith("?") for argument in arguments),
        has_destination=match["d"] is not None,
        takes_carry=takes_carry,
        modifiers=frozenset(word for word in _LEFT_TO_CALLER - used if found.get(word)),
    )


def _filled(text: str, found: Mapping[str, str]) -> str:
    """Return members of the opcode as C++; names of include/kbemu/ptx get their namespace."""
    return re.sub(r"\w+", lambda word: _in_cpp(word.group(), found), text)


def _in_cpp(word: str, found: Mapping[str, str]) -> str:
    if word in ("raw", "true", "false") or word.isdigit():
        return word
    prefix, _, choice = word.rpartition("_")
    if choice in found and choice in CHOICES:
        value = CHOICES[choice][found[choice]]
        word = f"{prefix}_{value}" if prefix else value
    elif word == "T":
        word = found["T"]
    elif word in ("global", "shared"):
        word = CHOICES["space"][word]
    return word if word in ("true", "false") or word.isdigit() else f"::kbemu::ptx::{word}"
