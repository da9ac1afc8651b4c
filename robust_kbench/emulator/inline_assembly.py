"""`asm` statements: their parts are read here, their PTX is translated by `assembly`."""

from __future__ import annotations

import ast
import re

from robust_kbench.emulator import assembly
from robust_kbench.emulator.source import Source
from robust_kbench.emulator.stream import Stream
from robust_kbench.emulator.tokens import Kind, Token

KEYWORDS = ("asm", "__asm", "__asm__")
_QUALIFIERS = frozenset(["volatile", "__volatile__", "__volatile", "inline", "__inline__", "goto"])
_RAW = re.compile(r'[^"]*"([^(]*)\((.*)\)\1"', re.DOTALL)

Operand = tuple[str, str]


def rewrite(source: Source) -> bool:
    """Replace every asm statement and say whether there was one. Raises Unsupported for PTX that cannot be emulated."""
    found = False
    for stream in source.streams:
        for index in stream.find(*KEYWORDS):
            opening = index + 1
            while stream.text(opening) in _QUALIFIERS:
                opening += 1
            if stream.text(opening) == "(" and stream.partner(opening) > opening:
                source.replace(stream, index, stream.partner(opening) + 1, _translated(source, stream, opening))
                found = True
    return found


def _translated(source: Source, stream: Stream, opening: int) -> str:
    template, outputs, inputs = _sections(stream, opening + 1, stream.partner(opening))
    text = _string(stream, *template)
    if text is None:
        raise source.unsupported("inline PTX that is not written as string literals", stream, opening)
    written, read = (
        [_operand(source, stream, *part) for part in _parts(stream, *section)] for section in (outputs, inputs)
    )
    return assembly.translate(text, written, read, source.name, stream.line(opening))


def _sections(stream: Stream, first: int, end: int) -> list[tuple[int, int]]:
    """Template, outputs and inputs, which colons separate; `::` is two of them."""
    sections: list[tuple[int, int]] = []
    start = at = first
    while at < end:
        text = stream.text(at)
        if text in (":", "::"):
            sections += [(start, at)] + [(at + 1, at + 1)] * (len(text) - 1)
            start = at + 1
        at = max(at, stream.partner(at)) + 1
    return ([*sections, (start, end)] + [(end, end)] * 2)[:3]


def _parts(stream: Stream, first: int, end: int) -> list[tuple[int, int]]:
    return stream.split(first, end) if first < end else []


def _operand(source: Source, stream: Stream, first: int, end: int) -> Operand:
    """`"=r"(expression)`."""
    opening = end - 1 if first == end else stream.partner(end - 1)
    constraint = _string(stream, first, opening)
    if constraint is None or stream.text(opening) != "(":
        raise source.unsupported("an asm operand of this form", stream, first)
    return constraint, stream.render(opening + 1, end - 1)


def _string(stream: Stream, first: int, end: int) -> str | None:
    """The value of adjacent string literals; None when there is anything else."""
    values = [_value(token) for token in stream.tokens[first:end]]
    known = [value for value in values if value is not None]
    return "".join(known) if known and len(known) == len(values) else None


def _value(token: Token) -> str | None:
    if token.kind is Kind.RAW_STRING and (raw := _RAW.fullmatch(token.text)):
        return raw.group(2)
    if token.kind is not Kind.STRING or not token.text.startswith('"'):
        return None
    try:
        # The escapes of C that occur in PTX are those of Python too.
        value = ast.literal_eval(token.text.replace("\\\n", "").replace("\\\r\n", ""))
    except (SyntaxError, ValueError):
        return None
    return value if isinstance(value, str) else None
