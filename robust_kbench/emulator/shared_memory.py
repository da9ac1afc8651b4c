"""Rewriting of `__shared__` variables to references into the block's memory: each block of a grid has its own."""

from __future__ import annotations

from dataclasses import replace

from robust_kbench.emulator import captures, scopes
from robust_kbench.emulator.declarations import Declaration, Declarator, parse
from robust_kbench.emulator.naming import derived, quoted
from robust_kbench.emulator.scopes import ATTRIBUTES
from robust_kbench.emulator.source import Source
from robust_kbench.emulator.stream import Stream

_BOUNDARIES = frozenset([";", "{", "}", "(", ":"])


def rewrite(source: Source) -> None:
    """Rewrite every declaration of shared memory."""
    for stream in source.streams:
        places = list(stream.find("__shared__"))
        inside = scopes.find(stream).inside if places else set()
        variables: list[captures.Variable] = []
        done = 0
        for index in places:
            if index >= done:
                done = stream.seek(index, ";")
                variables += _rewrite(source, stream, index, in_function=index in inside)
        captures.rewrite(source, stream, variables)


def _rewrite(source: Source, stream: Stream, index: int, in_function: bool) -> list[captures.Variable]:
    """Rewrite one declaration, and return its variables if they are those of a function."""
    first, end = _first(stream, index), stream.seek(index, ";")
    declaration = parse(stream, first, end) if stream.macro or end < len(stream) else None
    if declaration is None:  # `#define SHARED __shared__`, or an error that the compiler will report
        return []
    source.replace(stream, first, end, _declared(source, stream, index, declaration, in_function))
    return [(stream.text(declarator.name), end) for declarator in declaration.declarators] if in_function else []


def _declared(source: Source, stream: Stream, index: int, declaration: Declaration, in_function: bool) -> str:
    if "extern" in declaration.specifiers:
        write = _dynamic if in_function else _dynamic_of_file
    elif in_function:
        write = _static
    else:
        raise source.unsupported("a __shared__ variable outside of functions", stream, index)
    common, declaration = _named_type(stream, declaration)
    return common + "; ".join(write(stream, declaration, declarator) for declarator in declaration.declarators)


def _named_type(stream: Stream, declaration: Declaration) -> tuple[str, Declaration]:
    """Name a type that is defined in the declaration of several variables: it can be defined only once."""
    if "{" not in declaration.type or len(declaration.declarators) == 1:
        return "", declaration
    name, name_end = declaration.declarators[0].name, declaration.declarators[0].name_end
    alias = derived(stream, "kbemu_struct_", name, name_end)
    return f"typedef {declaration.type} {alias}; ", replace(declaration, type=alias)


def _first(stream: Stream, index: int) -> int:
    """Return where the declaration begins: its type may stand before `__shared__`."""
    while index > 0 and stream.text(index - 1) not in _BOUNDARIES:
        opening = stream.partner(index - 1)
        if stream.text(index - 1) == ")" and stream.text(opening - 1) not in ATTRIBUTES | {"decltype"}:
            return index
        index = min(index - 1, opening)
    return index


def _static(stream: Stream, declaration: Declaration, declarator: Declarator) -> str:
    name = stream.render(declarator.name, declarator.name_end)
    alias, tag = (
        derived(stream, prefix, declarator.name, declarator.name_end) for prefix in ("kbemu_type_", "kbemu_tag_")
    )
    literal = quoted(stream, declarator.name, declarator.name_end)
    alignment = f"{declaration.attributes} {declarator.attributes}".strip()
    typedef = f"typedef {declaration.type} {_renamed(stream, declarator, alias)};"
    if alignment:
        # An alignment is no part of a type, and so would not pass through a template's argument.
        box = f"struct {alignment} {tag} {{ {alias} value; }};"
        return f"{typedef} {box} {alias}& {name} = ::kbemu::shared<{tag}, {tag}>({literal}).value"
    return f"struct {tag}; {typedef} {alias}& {name} = ::kbemu::shared<{alias}, {tag}>({literal})"


def _renamed(stream: Stream, declarator: Declarator, alias: str) -> str:
    before = stream.render(declarator.first, declarator.name)
    after = stream.render(declarator.name_end, declarator.end)
    return f"{before}{alias}{after}"


def _dynamic(stream: Stream, declaration: Declaration, declarator: Declarator) -> str:
    name = stream.render(declarator.name, declarator.name_end)
    typedef, element = _element(stream, declaration, declarator)
    return f"{typedef}{element}* {name} = ::kbemu::dynamic_shared<{element}>()"


def _dynamic_of_file(stream: Stream, declaration: Declaration, declarator: Declarator) -> str:
    name = stream.render(declarator.name, declarator.name_end)
    typedef, element = _element(stream, declaration, declarator)
    return f"{typedef}static ::kbemu::DynamicShared<{element}> {name}"


def _element(stream: Stream, declaration: Declaration, declarator: Declarator) -> tuple[str, str]:
    """Return a typedef where the element's type needs one, and the type of an element of the array."""
    pointers = stream.render(declarator.first, declarator.name)
    behind = declarator.name_end
    rows = stream.partner(behind) + 1 if stream.text(behind) == "[" else behind
    if rows == declarator.end and "(" not in pointers:
        return "", f"{declaration.type}{pointers}"
    alias = derived(stream, "kbemu_type_", declarator.name, declarator.name_end)
    return f"typedef {declaration.type} {pointers}{alias}{stream.render(rows, declarator.end)}; ", alias
