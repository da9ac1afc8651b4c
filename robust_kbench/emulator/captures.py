"""Lambdas in kernels: shared variables need no capture in CUDA, but the references that stand for them do."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from robust_kbench.emulator.source import Source
from robust_kbench.emulator.stream import Stream
from robust_kbench.emulator.tokens import Kind

# What can follow the brackets of a lambda, and not those of an index or of a structured binding.
_AFTER_CAPTURES = frozenset(["(", "{", "mutable", "__device__", "__host__", "->"])
_CONDITIONS = frozenset(["if", "for", "while", "switch"])
_BEFORE_LAMBDA = frozenset(["return", "else", "do", "co_return"])

# Before a name that is a member's.
_NOT_IT = frozenset([".", "->", "::"])

# More than any honest file has; bounds the time for hostile ones.
_MOST_PAIRS = 1_000_000

Variable = tuple[str, int]  # a shared variable's name and where its declaration ends


def rewrite(source: Source, stream: Stream, variables: Sequence[Variable]) -> None:
    """Have every lambda capture by reference the variables that it mentions."""
    if not variables:
        return
    scopes = _scopes(stream, variables)
    mentions: dict[str, list[int]] = {name: [] for name, _ in variables}
    for at in stream.find(*mentions):
        if stream.text(at - 1) not in _NOT_IT:
            mentions[stream.text(at)].append(at)
    lambdas = list(_lambdas(stream))
    if len(lambdas) * len(scopes) > _MOST_PAIRS:
        return
    for opening in lambdas:
        closing = stream.partner(opening)
        captured = [stream.text(at) for at in range(opening + 1, closing)]
        if captured[:1] == ["&"] and captured[1:2] in ([], [","]):
            continue
        body = _body(stream, closing)
        visible = dict.fromkeys(name for name, first, end in scopes if first < opening < end)
        missing = [f"&{name}" for name in visible if name not in captured and _any_within(mentions[name], body)]
        if missing:
            source.insert_before(stream, closing, (", " if captured else "") + ", ".join(missing))


def _lambdas(stream: Stream) -> Iterator[int]:
    for index in stream.find("["):
        if not _is_value(stream, index - 1) and stream.text(stream.partner(index) + 1) in _AFTER_CAPTURES:
            yield index


def _is_value(stream: Stream, index: int) -> bool:
    """Tell if the token ends an expression, so that brackets behind it are an index."""
    if index < 0 or stream.text(index) == ")":
        return index >= 0 and stream.text(stream.partner(index) - 1) not in _CONDITIONS
    token = stream.tokens[index]
    return token.text == "]" or (token.kind in (Kind.NAME, Kind.STRING) and token.text not in _BEFORE_LAMBDA)


def _scopes(stream: Stream, variables: Sequence[Variable]) -> list[tuple[str, int, int]]:
    """Return name, beginning and end of the region where each variable can be named."""
    found: list[tuple[str, int, int]] = []
    ends: dict[int, int] = {}
    for name, first in reversed(variables):
        at = first
        while at < len(stream) and stream.text(at) != "}" and (at == first or at not in ends):
            at = max(at, stream.partner(at)) + 1
        ends[first] = ends.get(at, at)
        found.append((name, first, ends[first]))
    return found[::-1]


def _body(stream: Stream, closing: int) -> range:
    """Return the body of the lambda whose captures end at `closing`."""
    opening = stream.seek(closing + 1, "{", ";")
    return range(opening, stream.partner(opening))


def _any_within(places: list[int], body: range) -> bool:
    first = bisect_left(places, body.start)
    return first < len(places) and places[first] < body.stop
