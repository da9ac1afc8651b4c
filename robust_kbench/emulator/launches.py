"""Rewriting of `kernel<<<grid, block, shared, stream>>>(arguments)` to a call of `::kbemu::launch`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from robust_kbench.emulator.naming import quoted
from robust_kbench.emulator.source import Source
from robust_kbench.emulator.stream import Stream

# Words that stand before a launch without being the kernel's name.
_KEYWORDS = frozenset(["return", "else", "do", "if", "while", "for", "switch", "case", "co_return"])


@dataclass(frozen=True)
class Launch:
    """Tokens of a launch: the kernel's expression is [first, opening), the others are single tokens."""

    first: int
    opening: int  # <<<
    closing: int  # the first > of >>>
    arguments: int  # the ( behind it
    end: int  # the ) of the arguments


def rewrite(source: Source) -> None:
    """Rewrite every launch. Raises Unsupported for one that macros put together from parts."""
    launching = {stream.macro for stream in source.streams if stream.macro and any(find(stream))}
    for stream in source.streams:
        end = 0  # of all arguments so far
        # A call of a macro that launches passes its arguments on.
        for index in stream.find("<<<", "NULL", *launching):
            if stream.text(index) == "NULL":
                if index < end:  # a template takes it for a number
                    source.replace(stream, index, index + 1, "nullptr")
            elif stream.text(index) != "<<<":
                end = max(end, stream.partner(index + 1))
            elif (launch := _read(stream, index)) is not None:
                _replace(source, stream, launch)
                end = max(end, launch.end)
            elif stream.macro:
                raise source.unsupported("a launch that macros put together from parts", stream, index)


def find(stream: Stream) -> Iterator[Launch]:
    """Return an iterator over every launch that is complete."""
    return (launch for opening in stream.find("<<<") if (launch := _read(stream, opening)) is not None)


def _read(stream: Stream, opening: int) -> Launch | None:
    closing, first = _closing(stream, opening), kernel_start(stream, opening)
    if closing < 0 or first == opening:
        return None
    end = stream.partner(closing + 3)
    return Launch(first, opening, closing, closing + 3, end) if end > closing + 3 else None


def _closing(stream: Stream, opening: int) -> int:
    """Return where the `>>>` of a launch begins; the same letters may close three templates."""
    templates, found, at = 0, -1, opening + 1
    while at < len(stream) and stream.text(at) not in (";", ")", "]", "}", "<<<"):
        if _is_closing(stream, at):
            found = at
            if templates < 3:
                return at
        if stream.text(at) == "<" and stream.is_name(at - 1):
            templates += 1
        elif stream.text(at) == ">":
            templates = max(0, templates - 1)
        at = max(at, stream.partner(at)) + 1
    return found


def _is_closing(stream: Stream, at: int) -> bool:
    texts = [stream.text(at + offset) for offset in range(4)]
    return texts == [">", ">", ">", "("] and stream.adjacent(at + 1) and stream.adjacent(at + 2)


def kernel_start(stream: Stream, end: int) -> int:
    """Return where the expression that ends before `end` and names the kernel begins; `end` when there is none."""
    at = end
    while (start := _primary_start(stream, at)) < at:
        at = start
        if stream.text(at - 1) in ("::", ".", "->", "##"):
            at -= 1
            if stream.text(at) == "::" and _primary_start(stream, at) == at:
                return at  # `::kernel`
        else:
            return at
    return at


def _primary_start(stream: Stream, end: int) -> int:
    """Return the start of the name with template arguments, call, element or brackets that ends before `end`."""
    start = end
    while stream.text(start - 1) in (")", "]") and (opening := stream.partner(start - 1)) < start - 1:
        is_call_of_brackets = stream.text(start - 1) == ")" and stream.text(opening - 1) == ")"
        start = opening
        if is_call_of_brackets:  # `if (x) (kernel)<<<...>>>()` looks the same
            return start
    if stream.text(start - 1) == ">":
        opening = stream.open_angle(start - 1)
        name = _name_start(stream, opening)
        return name if 0 <= name < opening else start
    return _name_start(stream, start)


def _name_start(stream: Stream, end: int) -> int:
    at = end - 1
    if not stream.is_name(at) or stream.text(at) in _KEYWORDS:
        return end
    return at - 1 if stream.text(at - 1) == "template" else at


def kernel_name(stream: Stream, first: int, end: int) -> str:
    """Return the kernel's name as a string literal: without namespaces, template arguments and brackets."""
    while stream.text(first) == "(" and stream.partner(first) == end - 1:
        first, end = first + 1, end - 1
    if kernel_start(stream, end) > first:
        return quoted(stream, first, end)
    if stream.text(end - 1) == ">":
        end = stream.open_angle(end - 1)
    name = end - 1
    while stream.text(name - 1) == "##":
        name -= 2
    return quoted(stream, name if stream.text(name - 1) in ("::", "template") else first, end)


def _replace(source: Source, stream: Stream, launch: Launch) -> None:
    kernel = stream.render(launch.first, launch.opening)
    name = kernel_name(stream, launch.first, launch.opening)
    # By value: all that a thread reads then lies in the launch's own copy, where the checker expects it.
    body = f"[=](auto&... kbemu_a) {{ {kernel}(kbemu_a...); }}"
    source.replace(stream, launch.first, launch.opening, "")
    source.replace(stream, launch.opening, launch.opening + 1, f"::kbemu::launch({name}, ::kbemu::Config(")
    source.replace(stream, launch.closing, launch.arguments + 1, f"), {body}{_comma(stream, launch)}")


def _comma(stream: Stream, launch: Launch) -> str:
    first = launch.arguments + 1
    if first == launch.end:
        return ""
    return " __VA_OPT__(,) " if stream.text(first) == "__VA_ARGS__" and first + 1 == launch.end else ", "
