"""Preprocessor lines: which code is certainly left out, which macros are defined, what is included."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from robust_kbench.emulator.conditions import PREDEFINED, UNDEFINED, defined, evaluate
from robust_kbench.emulator.tokens import Kind, Token

_OPENING = ("if", "ifdef", "ifndef")
_MIDDLE = ("elif", "elifdef", "elifndef", "else")
CONDITIONAL = (*_OPENING, *_MIDDLE, "endif")


@dataclass(frozen=True)
class Directive:
    """Tokens `first` to `last` of the source, from `#` to before the newline; `rest` are those behind its name."""

    name: str
    first: int
    last: int
    rest: range

    def words(self, tokens: Sequence[Token]) -> list[Token]:
        """The significant tokens behind its name."""
        return [tokens[position] for position in self.rest if tokens[position].significant]


@dataclass
class _Branch:
    """An `#if` that is open: what is known of its parts so far."""

    parent_dead: bool
    parent_certain: bool
    taken: bool  # an earlier part is certainly compiled
    doubtful: bool  # an earlier part may be
    dead: bool = False
    certain: bool = True

    def enter(self, value: int | None) -> None:
        """Begin the part whose condition has this value."""
        self.dead = self.parent_dead or self.taken or value == 0
        self.certain = self.parent_certain and not self.doubtful and bool(value)
        self.taken = self.taken or bool(value)
        self.doubtful = self.doubtful or value is None


def find(tokens: Sequence[Token]) -> list[Directive]:
    """Every directive, in order."""
    found: list[Directive] = []
    position, at_line_start = 0, True
    while position < len(tokens):
        token = tokens[position]
        if at_line_start and token.text == "#":
            found.append(_read(tokens, position))
            position = found[-1].last + 1
            continue
        at_line_start = token.kind is Kind.NEWLINE or (at_line_start and not token.significant)
        position += 1
    return found


def _read(tokens: Sequence[Token], first: int) -> Directive:
    end = first
    while end < len(tokens) and tokens[end].kind is not Kind.NEWLINE:
        end += 1
    for position in range(first + 1, end):
        if tokens[position].significant:
            return Directive(tokens[position].text, first, end - 1, range(position + 1, end))
    return Directive("", first, end - 1, range(end, end))


@dataclass
class Liveness:
    """Follows a file's directives; `dead` says whether what comes next is certainly not compiled."""

    macros: dict[str, int | None] = field(default_factory=lambda: dict(PREDEFINED))
    dead: bool = False
    _branches: list[_Branch] = field(default_factory=list)

    def pass_directive(self, directive: Directive, tokens: Sequence[Token]) -> None:
        """Take note of one directive."""
        if directive.name in _OPENING:
            self._branches.append(_Branch(self.dead, self._certain, taken=False, doubtful=False))
            self._branches[-1].enter(self._value(directive, tokens))
        elif directive.name in _MIDDLE and self._branches:
            self._branches[-1].enter(self._value(directive, tokens))
        elif directive.name == "endif" and self._branches:
            self._branches.pop()
        elif directive.name in ("define", "undef") and not self.dead:
            self._define(directive, tokens)
        self.dead = bool(self._branches) and self._branches[-1].dead

    @property
    def _certain(self) -> bool:
        return not self._branches or self._branches[-1].certain

    def _value(self, directive: Directive, tokens: Sequence[Token]) -> int | None:
        words = directive.words(tokens)
        if directive.name == "else":
            return 1
        if directive.name in ("if", "elif"):
            return evaluate([tokens[position] for position in directive.rest], self.macros)
        value = defined(words[0].text, self.macros) if words else None
        return 1 - value if value is not None and directive.name in ("ifndef", "elifndef") else value

    def _define(self, directive: Directive, tokens: Sequence[Token]) -> None:
        words = directive.words(tokens)
        if not words:
            return
        name = words[0].text
        if directive.name == "undef" or not self._certain:
            # Whether it is defined from here on is not known: forget it, which is what a missing name means.
            self.macros.pop(name, None)
        else:
            value = words[1:]
            self.macros[name] = evaluate(value, self.macros) if value and name not in UNDEFINED else None
