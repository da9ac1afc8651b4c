"""Lineage of the candidates of a run, as a tree for a terminal and as entries for a file."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from dataclasses import asdict

from robust_kbench.agents.archive import Archive, Node
from robust_kbench.schema.documents import printable, shown

_MAX_NAME = 60


def tree(archive: Archive) -> str:
    """Draw a line for each candidate below its first parent, and mark the best one.

    An only child stands under its parent without being set in, so that a long row of repairs fits a terminal. Names are
    a model's words: they stay in their line and steer no terminal.
    """
    best = _best(archive)
    return "\n".join(shown(_line(prefix, node, node.id == best)) for prefix, node in _walk(archive))


def _best(archive: Archive) -> str | None:
    """Return the id of the best kernel; None where no kernel is right."""
    return archive.best.id if archive.best.is_kernel else None


def _walk(archive: Archive) -> Iterator[tuple[str, Node]]:
    """Yield every node with the text before it, parents before children; not recursive, since a run may be deep."""
    waiting = [("", "", archive.root)]
    while waiting:
        mark, indent, node = waiting.pop()
        yield mark, node
        children = archive.children(node)
        below = [_place(number, len(children), indent, child) for number, child in enumerate(children)]
        waiting += reversed(below)


def _place(number: int, count: int, indent: str, child: Node) -> tuple[str, str, Node]:
    if count == 1:
        return indent, indent, child
    is_last = number == count - 1
    return indent + ("└─ " if is_last else "├─ "), indent + ("   " if is_last else "│  "), child


def _line(prefix: str, node: Node, is_best: bool) -> str:
    name = node.candidate.name[:_MAX_NAME]
    words = [node.id, node.candidate.operator, verdict(node), f"({name})" if name else "", "<- best" * is_best]
    return prefix + "  ".join(filter(None, words))


def verdict(node: Node) -> str:
    """Return the speedup over eager PyTorch with its interval, or the stage at which the candidate failed."""
    judged = node.judged
    if node.candidate.is_reference:
        return "the reference"
    if judged.is_right:
        return f"{judged.speedup:.2f}x [{judged.low:.2f}, {judged.high:.2f}]"
    return "not judged: our own error" if judged.is_ours else f"failed at {judged.stage}"


def as_json(archive: Archive) -> list[dict[str, object]]:
    """Return every candidate with its parents, its context, its code and its verdict, in the order of judging."""
    best = _best(archive)
    return [_entry(node, is_best=node.id == best) for node in archive]


def _entry(node: Node, *, is_best: bool) -> dict[str, object]:
    facts = {name: _storable(value) for name, value in asdict(node.candidate).items()}
    judged = {name: _storable(value) for name, value in asdict(node.judged).items()}
    digest = hashlib.sha256(node.candidate.code.encode(errors="replace")).hexdigest()
    return {**facts, "code_digest": f"sha256:{digest}", "judged": judged, "is_best": is_best}


def _storable(value: object) -> object:
    """Convert a value to one that JSON and UTF-8 can carry: no infinity, no half of a character."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, list | tuple):
        return [_storable(each) for each in value]
    if isinstance(value, dict):
        return {printable(str(key)): _storable(each) for key, each in value.items()}
    return value
