"""Tokens of C++ and CUDA source. Joined, they are the source again, so a rewriter changes nothing by accident."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum


class Kind(Enum):
    """Kind of a token; the first three mean nothing to the compiler, or only end a directive."""

    SPACE = "space"  # includes lines continued with a backslash
    NEWLINE = "newline"
    COMMENT = "comment"
    RAW_STRING = "raw string"
    STRING = "string"
    CHARACTER = "character"
    NUMBER = "number"
    NAME = "name"  # keywords too
    HEADER = "header"  # <file> after #include
    MARK = "mark"  # operators, brackets; `>` is always alone, because it may close a template


@dataclass(frozen=True, slots=True)
class Token:
    """Piece of source; `line` is the line where it begins, counted from 1."""

    kind: Kind
    text: str
    line: int

    @property
    def significant(self) -> bool:
        """True if the compiler's grammar sees the token."""
        return self.kind not in (Kind.SPACE, Kind.NEWLINE, Kind.COMMENT)


_CONTINUED = r"\\[ \t\f\v]*\r?\n"
_LITERAL = r"(?:[^{quote}\\\n]|\\(?:\r?\n|.))*"
_LETTER = r"A-Za-z_$\u0080-\U0010ffff"
_MARKS = (
    # `operator<<<int>` is no launch.
    "(?<=operator)<<(?=<)", "<<<", "<=>", "<<=", "->*", "...", "::", "->", "##", "<<", "<=", ">=", "==", "!=", "&&",
    "||", "++", "--", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=",
)  # fmt: skip
# What is never closed ends with the line (literals) or with the file: so the time is linear for any source.
_PATTERNS: dict[Kind, str] = {
    Kind.SPACE: rf"(?:[ \t\f\v\r]|{_CONTINUED})+",
    Kind.NEWLINE: r"\n",
    Kind.COMMENT: rf"//(?:{_CONTINUED}|[^\n])*|/\*(?s:.*?)(?:\*/|\Z)",
    Kind.RAW_STRING: r'(?:u8|[uUL])?R"(?P<delimiter>[^\s()\\"]{0,16})\((?s:.*?)(?:\)(?P=delimiter)"|\Z)',
    Kind.STRING: '(?:u8|[uUL])?"' + _LITERAL.format(quote='"') + '"?',
    Kind.CHARACTER: "(?:u8|[uUL])?'" + _LITERAL.format(quote="'") + "'?",
    Kind.NUMBER: rf"\.?[0-9](?:[eEpP][+-]|'?[0-9{_LETTER}]|\.)*",
    Kind.NAME: rf"[{_LETTER}][0-9{_LETTER}]*",
    Kind.MARK: "|".join(mark if mark.startswith("(") else re.escape(mark) for mark in _MARKS) + "|(?s:.)",
}
_TOKEN = re.compile("|".join(f"(?P<{kind.name}>{pattern})" for kind, pattern in _PATTERNS.items()))
_HEADER = re.compile(r"<[^>\n]*>")
_INCLUDES = ("include", "include_next", "import")


def tokenize(text: str) -> list[Token]:
    """Return every character of `text` in order, as tokens. Any character that is no token of C++ is a MARK."""
    return list(_tokens(text))


def _tokens(text: str) -> Iterator[Token]:
    position, line = 0, 1
    before: list[str] = []  # the significant tokens of this line, as far as an #include needs them
    while position < len(text):
        kind, piece = _next(text, position, before)
        yield Token(kind, piece, line)
        position += len(piece)
        line += piece.count("\n")
        if kind is Kind.NEWLINE:
            before = []
        elif kind not in (Kind.SPACE, Kind.COMMENT) and len(before) < 3:
            before.append(piece)


def _next(text: str, position: int, before: list[str]) -> tuple[Kind, str]:
    if len(before) == 2 and before[0] == "#" and before[1] in _INCLUDES:
        header = _HEADER.match(text, position)
        if header is not None:
            return Kind.HEADER, header.group()
    match = _TOKEN.match(text, position)
    assert match is not None, "the last pattern matches any character"
    # The delimiter of a raw string is a group too, but an inner one: lastgroup names the outer.
    return Kind[match.lastgroup or ""], match.group()
