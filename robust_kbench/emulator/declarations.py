"""Declarations of variables: specifiers, type, and declarators such as `*a[3]`."""

from __future__ import annotations

from dataclasses import dataclass

from robust_kbench.emulator.naming import name_end
from robust_kbench.emulator.scopes import ATTRIBUTES
from robust_kbench.emulator.stream import Stream

_MEMORY_SPACES = frozenset(["__shared__", "__device__", "__constant__", "__managed__"])
_SPECIFIERS = _MEMORY_SPACES | frozenset(
    ["static", "extern", "inline", "constexpr", "constinit", "thread_local", "register", "__host__"]
)
_QUALIFIERS = frozenset(["const", "volatile", "__restrict__", "__restrict"])
_BUILT_IN = frozenset(
    [
        "unsigned", "signed", "long", "short", "int", "char", "float", "double", "bool", "void", "auto", "wchar_t",
        "char8_t", "char16_t", "char32_t", "__int128",
    ]
)  # fmt: skip
_WITH_BODY = frozenset(["struct", "class", "union", "enum"])
_ELABORATED = _WITH_BODY | {"typename"}
_BEFORE_NAME = _QUALIFIERS | {"*", "&", "("}


@dataclass(frozen=True)
class Declarator:
    """Tokens `first` to before `end`, without initialiser; its name lies in [name, name_end)."""

    first: int
    name: int
    name_end: int
    end: int
    attributes: str = ""


@dataclass(frozen=True)
class Declaration:
    """Declaration of variables: the words of its specifiers, attributes and type as text, and its declarators."""

    specifiers: frozenset[str]
    attributes: str
    type: str
    declarators: tuple[Declarator, ...]


def parse(stream: Stream, first: int, end: int) -> Declaration | None:
    """Return the declaration of variables; None when the tokens declare none, but a function for instance."""
    head = _Head(stream, first, end)
    behind = head.read()
    declarators = [_declarator(stream, start, stop) for start, stop in stream.split(behind, end)]
    known = tuple(declarator for declarator in declarators if declarator is not None)
    if not head.type or len(known) < len(declarators):
        return None
    return Declaration(frozenset(head.specifiers), " ".join(head.attributes), " ".join(head.type), known)


class _Head:
    """Beginning of a declaration: every token before its first declarator."""

    def __init__(self, stream: Stream, first: int, end: int) -> None:
        self.specifiers: set[str] = set()
        self.attributes: list[str] = []
        self.type: list[str] = []
        self._stream = stream
        self._at = first
        self._end = end
        self._named = False  # the type's name has been read: the next name is that of a variable
        self._has_body = False  # `struct` has been read: a body may follow

    def read(self) -> int:
        """Read specifiers, attributes and type, and return where the first declarator begins."""
        while self._at < self._end and self._step():
            pass
        return self._at

    def _step(self) -> bool:
        text = self._stream.text(self._at)
        if text in _SPECIFIERS:
            self.specifiers.add(text)
            self._at += 1
        elif (end := attribute_end(self._stream, self._at)) > self._at:
            # In `struct alignas(16) {...}` it belongs to the type.
            self._take(end, self.type if self._has_body and not self._named else self.attributes)
        elif text in _QUALIFIERS or text in _ELABORATED:
            self._has_body = self._has_body or text in _WITH_BODY
            self._take(self._at + 1, self.type)
        elif text in _BUILT_IN or (text == "{" and self._has_body):
            self._named = True
            self._take(self._stream.partner(self._at) + 1, self.type)
        elif not self._named and (text == "::" or self._stream.is_name(self._at)):
            self._named = True
            self._take(_type_end(self._stream, self._at), self.type)
        else:
            return False
        return True

    def _take(self, end: int, into: list[str]) -> None:
        into.append(self._stream.render(self._at, end))
        self._at = end


def attribute_end(stream: Stream, at: int) -> int:
    """Return the end of an attribute such as `alignas(16)` or `[[maybe_unused]]`; `at` itself when there is none."""
    if stream.text(at) in ATTRIBUTES and stream.text(at + 1) == "(":
        return stream.partner(at + 1) + 1
    if stream.text(at) == "[" and stream.text(at + 1) == "[":
        return stream.partner(at) + 1
    return at


def _type_end(stream: Stream, at: int) -> int:
    """Return the index behind `a::b<c>::template d<e>`, `decltype(x)` or `MACRO(x)`."""
    while True:
        at += stream.text(at) == "::"
        at += stream.text(at) == "template"
        at = name_end(stream, at)
        if stream.text(at) == "(":
            at = stream.partner(at) + 1
        if stream.text(at) == "<" and (close := stream.close_angle(at)) > 0:
            at = close + 1
        if stream.text(at) != "::":
            return at


def _declarator(stream: Stream, first: int, end: int) -> Declarator | None:
    name = first
    while name < end and stream.text(name) in _BEFORE_NAME:
        name += 1
    behind = name_end(stream, name)
    if name >= end or not stream.is_name(name) or stream.text(behind) in ("(", "::") or stream.text(name) == "operator":
        return None
    stop = attributes = _declarator_end(stream, behind, end)
    while (following := attribute_end(stream, attributes)) > attributes:
        attributes = following
    return Declarator(first, name, behind, stop, stream.render(stop, attributes))


def _declarator_end(stream: Stream, at: int, end: int) -> int:
    """Return where an initialiser or an attribute begins, or `end`."""
    while at < end and stream.text(at) not in ("=", "{") and attribute_end(stream, at) == at:
        at = max(at, stream.partner(at)) + 1
    return at
