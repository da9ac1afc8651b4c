"""Beginnings and ends of functions, classes and namespaces, as far as a rewriter has to know them."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from robust_kbench.emulator.stream import Stream
from robust_kbench.emulator.tokens import Kind

# Words that carry a bracket of their own without being a function's name.
ATTRIBUTES = frozenset(["alignas", "__align__", "__builtin_align__", "__attribute__", "__declspec"])
CARRIERS = ATTRIBUTES | {"__launch_bounds__", "__cluster_dims__", "__maxnreg__", "decltype", "noexcept", "explicit"}


class _Brace(Enum):
    NAMESPACE = "namespace"
    CLASS = "class"
    FUNCTION = "function"
    VALUE = "value"  # an initialiser or a list of enumerators


@dataclass(frozen=True)
class Statement:
    """Declaration in a namespace: tokens `first` to before `end`, where its semicolon is.

    `words` are the words outside of brackets, without attributes; a pair of brackets is one word, such as `()`.
    """

    first: int
    end: int
    words: frozenset[str]


@dataclass(frozen=True)
class Function:
    """Function whose body lies between `opening` and `closing`; `words` are those of its head, as in a Statement."""

    opening: int
    closing: int
    words: frozenset[str]


@dataclass
class Scopes:
    """Statements, functions and inner tokens that `find` sees, all in order."""

    statements: list[Statement] = field(default_factory=list)
    functions: list[Function] = field(default_factory=list)
    inside: set[int] = field(default_factory=set)  # tokens in functions and initialisers, not in a namespace or class


def find(stream: Stream) -> Scopes:
    """Return the scopes of a region. In a macro, whose surroundings are unknown, every token counts as inside."""
    walk = _Walk(stream)
    if stream.macro:
        walk.scopes.inside.update(range(len(stream)))
    index = 0
    while index < len(stream):
        index = walk.step(index) + 1
    return walk.scopes


class _Walk:
    """Walk over declarations that never enters functions and initialisers."""

    def __init__(self, stream: Stream) -> None:
        self.scopes = Scopes()
        self._stream = stream
        self._begin(0)
        self._enclosing: list[tuple[_Brace, int, set[str]]] = []

    def _begin(self, first: int, words: set[str] | None = None) -> None:
        """Begin a declaration at `first`, or continue one behind a class's body."""
        self._first = first
        self._words = set() if words is None else words
        self._initialises = False

    def step(self, index: int) -> int:
        """Take note of the token, and return the index of the last token that is done with."""
        text = self._stream.text(index)
        if text == "{":
            return self._open(index)
        if text == "}":
            brace, first, words = self._enclosing.pop() if self._enclosing else (_Brace.NAMESPACE, 0, set())
            # `struct {...} name;` is one statement.
            self._begin(*((first, words) if brace is _Brace.CLASS else (index + 1,)))
        elif text == ";":
            if all(brace is _Brace.NAMESPACE for brace, _, _ in self._enclosing):
                self.scopes.statements.append(Statement(self._first, index, frozenset(self._words)))
            self._begin(index + 1)
        else:
            return self._word(index, text)
        return index

    def _word(self, index: int, text: str) -> int:
        following = self._stream.text(index + 1)
        if text == "template" and following == "<":
            self._words.add("template")
            return max(index, self._stream.close_angle(index + 1))
        if text in CARRIERS and following == "(":
            return self._skip(index + 1)
        if text in ("(", "["):
            self._words.add(text + self._stream.text(self._stream.partner(index)))
            return self._skip(index)
        self._initialises |= text == "=" and self._stream.text(index - 1) != "operator"
        self._words.add(text)
        return index

    def _open(self, index: int) -> int:
        brace = self._classify(index)
        if brace in (_Brace.NAMESPACE, _Brace.CLASS):
            self._enclosing.append((brace, self._first, self._words))
            self._begin(index + 1)
            return index
        closing = self._skip(index)
        if brace is _Brace.FUNCTION:
            self.scopes.functions.append(Function(index, closing, frozenset(self._words)))
            self._begin(closing + 1)
        return closing

    def _skip(self, index: int) -> int:
        closing = self._stream.partner(index)
        self.scopes.inside.update(range(index, closing))
        return closing

    def _classify(self, brace: int) -> _Brace:
        if "namespace" in self._words or self._is_linkage(brace):
            return _Brace.NAMESPACE
        if "enum" in self._words or self._initialises:
            return _Brace.VALUE
        if "()" in self._words:
            return _Brace.FUNCTION
        return _Brace.VALUE if self._words.isdisjoint(("struct", "class", "union")) else _Brace.CLASS

    def _is_linkage(self, brace: int) -> bool:
        """Tell if the brace opens the block of `extern "C" {`."""
        literal = brace >= 2 and self._stream.tokens[brace - 1].kind is Kind.STRING
        return literal and self._stream.text(brace - 2) == "extern"
