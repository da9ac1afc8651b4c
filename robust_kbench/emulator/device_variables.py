"""`__device__` and `__constant__` variables are ordinary ones here; the runtime only has to know them."""

from __future__ import annotations

from robust_kbench.emulator import scopes
from robust_kbench.emulator.declarations import Declaration, Declarator, parse
from robust_kbench.emulator.naming import derived, quoted
from robust_kbench.emulator.source import Source
from robust_kbench.emulator.stream import Stream

_SPACES = frozenset(["__device__", "__constant__", "__managed__"])
# What begins a declaration of something else than a variable whose address can be taken here.
_OTHERS = frozenset(["template", "using", "typedef", "friend"])


def rewrite(source: Source) -> None:
    """Declare every such variable in a namespace to the runtime, right behind its declaration."""
    for stream in source.streams:
        for statement in scopes.find(stream).statements:
            declaration = _variables(stream, statement)
            if declaration is not None:
                text = "".join(_symbol(stream, declarator) for declarator in declaration.declarators)
                source.insert_after(stream, statement.end, text)


def _variables(stream: Stream, statement: scopes.Statement) -> Declaration | None:
    if _SPACES.isdisjoint(statement.words) or not _OTHERS.isdisjoint(statement.words):
        return None
    declaration = parse(stream, statement.first, statement.end)
    # `extern` promises a variable whose size may be unknown here, and whose own file declares it.
    if declaration is None or "extern" in declaration.specifiers or _SPACES.isdisjoint(declaration.specifiers):
        return None
    return declaration


def _symbol(stream: Stream, declarator: Declarator) -> str:
    first, end = declarator.name, declarator.name_end
    name, flag = stream.render(first, end), derived(stream, "kbemu_symbol_", first, end)
    return f" static const bool {flag} = ::kbemu::symbol({quoted(stream, first, end)}, &{name}, sizeof({name}));"
