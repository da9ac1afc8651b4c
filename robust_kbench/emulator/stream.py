"""Region of a source as the grammar sees it: the code outside of directives, or the body of one macro."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from robust_kbench.emulator.tokens import Kind, Token

_CLOSING = {"(": ")", "[": "]", "{": "}"}
_OPENING = frozenset(_CLOSING)
_CLOSED = frozenset(_CLOSING.values())
# Template arguments longer than this are taken for comparisons, which bounds the time for hostile source.
_LONGEST_TEMPLATE = 256
# The same for what stands between a function's name and its body, or in a declaration; brackets count once.
_FARTHEST = 256
# What may follow the arguments of a template, and not the right side of a comparison `a < b > c`.
_AFTER_TEMPLATE = frozenset(
    ["", "(", ")", "{", "}", "[", "]", ",", ";", "::", ":", ">", "&", "&&", "*", "...", "?", "="]
)

Places = list[tuple[int, Token]]


class Stream:
    """Significant tokens, numbered from 0; `positions` are their places in the source, `macro` is the macro's name.

    Alternative branches of an `#if` may open the same bracket. Then each opening bracket has the common closing one as
    its partner. The partner of the closing bracket is the first opening one.
    """

    def __init__(
        self, tokens: Places, partners: dict[int, int], *, macro: str = "", parameters: Sequence[str] = ()
    ) -> None:
        self.positions = [position for position, _ in tokens]
        self.tokens = [token for _, token in tokens]
        self.macro = macro
        self.parameters = frozenset(parameters)
        self._partners = partners

    def __len__(self) -> int:
        return len(self.tokens)

    def text(self, index: int) -> str:
        """Return the token's text; empty outside of the region."""
        return self.tokens[index].text if 0 <= index < len(self.tokens) else ""

    def is_name(self, index: int) -> bool:
        """Tell if the token is a name or a keyword."""
        return 0 <= index < len(self.tokens) and self.tokens[index].kind is Kind.NAME

    def line(self, index: int) -> int:
        """Return the token's line in the user's file."""
        return self.tokens[index].line

    def find(self, *texts: str) -> Iterator[int]:
        """Return an iterator over the index of every token with one of these texts."""
        wanted = frozenset(texts)
        return (index for index, token in enumerate(self.tokens) if token.text in wanted)

    def partner(self, index: int) -> int:
        """Return the index of the matching bracket; `index` itself where there is none, so that a walk goes on."""
        return self._partners.get(index, index)

    def adjacent(self, index: int) -> bool:
        """Tell if nothing, not even a space, separates the token from the one before it."""
        return index > 0 and self.positions[index] == self.positions[index - 1] + 1

    def render(self, first: int, end: int) -> str:
        """Return the tokens from `first` to before `end` on one line, without comments."""
        pieces: list[str] = []
        for index in range(first, end):
            if pieces and not self.adjacent(index):
                pieces.append(" ")
            pieces.append(self.text(index))
        return "".join(pieces)

    def seek(self, index: int, *texts: str) -> int:
        """Return the next token with one of these texts that no bracket holds; the end, if it is not near."""
        for _ in range(_FARTHEST):
            if index >= len(self) or self.text(index) in texts:
                return min(index, len(self))
            index = max(index, self.partner(index)) + 1
        return len(self)

    def close_angle(self, index: int) -> int:
        """Return the index of the `>` that closes the template arguments opened at `index`; -1 when it opens none."""
        depth, at = 0, index
        while at < min(len(self), index + _LONGEST_TEMPLATE):
            text = self.text(at)
            if text == "<":
                depth += 1
            elif text == ">":
                depth -= 1
                if depth == 0:
                    return at
            elif text in _OPENING:
                at = max(at, self.partner(at))
            elif text in _CLOSED or text in (";", "<<<"):
                return -1
            at += 1
        return -1

    def open_angle(self, index: int) -> int:
        """Return the index of the `<` that opens the template arguments closed at `index`; -1 when it closes none."""
        depth, at = 0, index
        while at >= max(0, index - _LONGEST_TEMPLATE):
            text = self.text(at)
            if text == ">":
                depth += 1
            elif text == "<":
                depth -= 1
                if depth == 0:
                    return at
            elif text in _CLOSED:
                at = min(at, self.partner(at))
            elif text in _OPENING or text in (";", "<<<"):
                return -1
            at -= 1
        return -1

    def after_template(self, index: int) -> int:
        """Return the index behind the template arguments that open at `index`, or `index` when that `<` compares."""
        if self.text(index) != "<" or not self.is_name(index - 1):
            return index
        close = self.close_angle(index)
        return close + 1 if close >= 0 and self.text(close + 1) in _AFTER_TEMPLATE else index

    def split(self, first: int, end: int) -> list[tuple[int, int]]:
        """Return the parts of [first, end) between commas outside brackets and templates; one empty part if empty."""
        parts: list[tuple[int, int]] = []
        start = at = first
        while at < end:
            text = self.text(at)
            if text in _OPENING:
                at = max(at, self.partner(at))
            elif text == "<" and (behind := self.after_template(at)) <= end and behind > at:
                at = behind - 1
            elif text == ",":
                parts.append((start, at))
                start = at + 1
            at += 1
        return [*parts, (start, end)]


@dataclass(frozen=True, slots=True)
class _Open:
    """Open bracket on top of `below`: the text that closes it, its opening places, and the number of open brackets.

    The brackets that two branches of an `#if` have in common are the same objects. Otherwise each branch would cost as
    much time as there are open brackets.
    """

    closing: str
    openings: tuple[int, ...]
    below: _Open | None
    depth: int

    def within(self) -> Iterator[_Open]:
        """Yield this bracket and the brackets around it, from the innermost."""
        at = self
        while at.below is not None:
            yield at
            at = at.below

    def push(self, closing: str, openings: tuple[int, ...]) -> _Open:
        """Return a new bracket that is opened inside this one."""
        return _Open(closing, openings, self, self.depth + 1)


_NOTHING_OPEN = _Open("", (), None, 0)
# How far out a closing bracket looks for its own, and how many alternative openings a bracket has at most.
_FARTHEST_OUT, _MOST_OPENINGS = 7, 64


class BracketMatcher:
    """Matcher of brackets while tokens pass by. A bracket that several branches of an `#if` open counts once."""

    def __init__(self) -> None:
        self.partners: dict[int, int] = {}
        self._open = _NOTHING_OPEN
        self._branches: list[tuple[_Open, _Open | None]] = []  # before the `#if`, and behind its parts so far

    def token(self, index: int, text: str) -> None:
        """Pass one token, and match it if it is a bracket."""
        if text in _OPENING:
            self._open = self._open.push(_CLOSING[text], (index,))
        elif text in _CLOSED:
            self._close(index, text)

    def _close(self, index: int, text: str) -> None:
        # A bracket that does not fit is the user's error, or half of a macro: the nearest that fits is taken.
        for bracket in islice(self._open.within(), _FARTHEST_OUT):
            if bracket.closing == text:
                assert bracket.below is not None
                self._open = bracket.below
                self.partners.update(dict.fromkeys(bracket.openings, index))
                self.partners[index] = bracket.openings[0]
                return

    def directive(self, name: str, dead: bool) -> None:
        """Pass one conditional directive; `dead` tells if the part that it ends was left out."""
        if name.startswith("if"):
            self._branches.append((self._open, None))
        elif self._branches:
            before, behind = self._branches.pop()
            if not dead:
                behind = self._open if behind is None else _merged(behind, self._open)
            if name == "endif":
                self._open = before if behind is None else behind
            else:
                self._branches.append((before, behind))
                self._open = before


def _merged(first: _Open, second: _Open) -> _Open:
    if first.depth != second.depth:
        return second
    differing: list[tuple[_Open, _Open]] = []
    merged = _NOTHING_OPEN
    for one, two in zip(first.within(), second.within(), strict=True):
        if one is two:
            merged = one
            break
        if one.closing != two.closing:
            return second
        differing.append((one, two))
    for one, two in reversed(differing):
        openings = tuple(dict.fromkeys(one.openings + two.openings))
        merged = merged.push(one.closing, openings[:_MOST_OPENINGS])
    return merged
