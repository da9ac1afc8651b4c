"""Source file under rewriting: its tokens, the regions that can hold CUDA, and the text that replaces them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from robust_kbench.emulator import directives
from robust_kbench.emulator.directives import Directive, Liveness
from robust_kbench.emulator.stream import BracketMatcher, Places, Stream
from robust_kbench.emulator.tokens import Kind, Token, tokenize
from robust_kbench.errors import Unsupported


def unsupported(feature: str, name: str, line: int) -> Unsupported:
    """Return the error for a feature that only a device can run."""
    return Unsupported(f"{feature} at {name}:{line} cannot be emulated; a CUDA device can run it")


class Source:
    """Source file whose tokens stay as they are; `replace` and `insert_*` change the text that stands for them."""

    def __init__(self, text: str, name: str) -> None:
        self.name = name
        self.tokens = tokenize(text)
        self.includes: list[Token] = []
        self._text = [token.text for token in self.tokens]
        self._directive_at: dict[int, int] = {}
        self._macros: list[Stream] = []
        self.code = self._read()

    @property
    def streams(self) -> list[Stream]:
        """Code outside of directives, then the macros' bodies; without code that is certainly not compiled."""
        return [self.code, *self._macros]

    def text(self) -> str:
        """Return the source as it has been rewritten so far."""
        return "".join(self._text)

    def unsupported(self, feature: str, stream: Stream, index: int) -> Unsupported:
        """Return the error for a feature that begins at the token."""
        return unsupported(feature, self.name, stream.line(index))

    def replace(self, stream: Stream, first: int, end: int, text: str) -> None:
        """Put `text` in place of the tokens from `first` to before `end`; the line breaks in between stay."""
        start, stop = stream.positions[first], stream.positions[end - 1]
        if len({self._directive_at.get(position) for position in range(start, stop + 1)}) > 1:
            raise self.unsupported(f"a preprocessor directive within `{stream.text(first)}...`", stream, first)
        for position in range(start, stop + 1):
            self._text[position] = _lines_of(self.tokens[position])
        self._text[start] = text + self._text[start]

    def insert_after(self, stream: Stream, index: int, text: str) -> None:
        """Put `text` behind the token at `index`."""
        self._text[stream.positions[index]] += text

    def insert_before(self, stream: Stream, index: int, text: str) -> None:
        """Put `text` before the token at `index`."""
        position = stream.positions[index]
        self._text[position] = text + self._text[position]

    def _read(self) -> Stream:
        reading, position = _Reading(), 0
        for directive in directives.find(self.tokens):
            self._take(position, directive.first, reading)
            self._pass(directive, reading)
            position = directive.last + 1
        self._take(position, len(self.tokens), reading)
        return Stream(reading.code, reading.matcher.partners)

    def _take(self, first: int, end: int, reading: _Reading) -> None:
        """Add code between two directives, unless it is certainly not compiled."""
        if reading.liveness.dead:
            return
        for position, token in _significant(self.tokens, first, end):
            alias = reading.aliases.get(token.text)
            for part in [token] if alias is None else [replace(part, line=token.line) for part in alias]:
                reading.matcher.token(len(reading.code), part.text)
                reading.code.append((position, part))

    def _pass(self, directive: Directive, reading: _Reading) -> None:
        self._directive_at.update(dict.fromkeys(range(directive.first, directive.last + 1), directive.first))
        was_dead = reading.liveness.dead
        reading.liveness.pass_directive(directive, self.tokens)
        if directive.name in directives.CONDITIONAL:
            reading.matcher.directive(directive.name, was_dead)
        elif directive.name == "define" and not was_dead:
            self._macros.append(macro := _macro(self.tokens, directive))
            if _is_shared_alias(macro):
                reading.aliases[directive.words(self.tokens)[0].text] = macro.tokens
        elif directive.name == "include" and not was_dead:
            self.includes += directive.words(self.tokens)[:1]


@dataclass
class _Reading:
    """State of a file as far as it has been read."""

    liveness: Liveness = field(default_factory=Liveness)
    matcher: BracketMatcher = field(default_factory=BracketMatcher)
    code: Places = field(default_factory=list)
    aliases: dict[str, list[Token]] = field(default_factory=dict)


def _significant(tokens: list[Token], first: int, end: int) -> Iterator[tuple[int, Token]]:
    return ((position, tokens[position]) for position in range(first, end) if tokens[position].significant)


def _lines_of(token: Token) -> str:
    """Return text that keeps the line count when the token goes, in a macro as well."""
    if "\n" not in token.text:
        return ""
    return token.text if token.kind in (Kind.SPACE, Kind.NEWLINE) else "/*" + "\n" * token.text.count("\n") + "*/"


def _macro(tokens: list[Token], directive: Directive) -> Stream:
    places = list(_significant(tokens, directive.rest.start, directive.rest.stop))
    parameters: list[str] = []
    body = places[1:]
    # A function-like macro has its bracket right behind the name.
    if body and body[0][1].text == "(" and body[0][0] == places[0][0] + 1:
        close = next((at for at, (_, token) in enumerate(body) if token.text == ")"), len(body) - 1)
        parameters = ["__VA_ARGS__", *(token.text for _, token in body[1:close] if token.kind is Kind.NAME)]
        body = body[close + 1 :]
    matcher = BracketMatcher()
    for index, (_, token) in enumerate(body):
        matcher.token(index, token.text)
    return Stream(body, matcher.partners, macro=places[0][1].text if places else "", parameters=parameters)


def _is_shared_alias(macro: Stream) -> bool:
    """Tell if a macro such as `#define SHARED __shared__` hides the word that marks a declaration."""
    specifiers = {"__shared__", "volatile", "static", "extern"}
    texts = [token.text for token in macro.tokens]
    return not macro.parameters and "__shared__" in texts and set(texts) <= specifiers
