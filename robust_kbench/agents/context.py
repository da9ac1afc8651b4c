"""Sections of a prompt, made from the archive for a role, each with the ids of the candidates in it."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from robust_kbench.agents.archive import Archive, Node
from robust_kbench.agents.preset import Section

_MAX_LOG = 1500
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[^\n\t\x20-\x7e\u00a0-\uffff]")


@dataclass(frozen=True)
class Brief:
    """Text that is the same in all prompts of a run.

    `task` is the contract with the reference. `hardware` describes the machine that the kernel runs on. `fence` is the
    name of the language behind three backticks, and `hints` are general ideas to draw from.
    """

    task: str
    hardware: str
    fence: str
    hints: tuple[str, ...] = ()


@dataclass(frozen=True)
class Block:
    """Section of a prompt as text. `shown` names the candidates whose code or result is in it."""

    title: str
    text: str
    shown: tuple[str, ...] = ()


@dataclass(frozen=True)
class View:
    """Material that a section of a prompt may be made from."""

    brief: Brief
    archive: Archive
    focus: Sequence[Node]
    rng: random.Random
    notes: Mapping[str, str]


def blocks(sections: Sequence[Section], view: View) -> list[Block]:
    """Return the sections as blocks in their order, without empty ones."""
    return [block for section in sections for block in _SECTIONS[section.name](view, section.count) if block.text]


def note(role: str, text: str) -> Block:
    """Return the text of an earlier role as a section, between fences that it cannot close."""
    said = quoted(text, 8 * _MAX_LOG)
    return Block(f"Note of the role {role}", fenced(said) if said else "")


def _several(title: str, nodes: Sequence[Node], view: View) -> list[Block]:
    return [_whole(f"{title} {number}", node, view) for number, node in enumerate(nodes, 1)]


def _whole(title: str, node: Node, view: View) -> Block:
    """Return a candidate as a block with its result, its idea and its code."""
    lines = [f"name: {one_line(node.candidate.name) or node.id}", result(node)]
    if node.candidate.thought:
        lines.append(f"idea: {one_line(node.candidate.thought)}")
    return Block(title, "\n".join([*lines, code(node, view)]), (node.id,))


def _bare(title: str, node: Node, view: View) -> Block:
    return Block(title, code(node, view), (node.id,))


def code(node: Node, view: View) -> str:
    """Return the code of a node between fences that it cannot close."""
    return fenced(node.candidate.code, "python" if node.candidate.is_reference else view.brief.fence)


def fenced(text: str, language: str = "") -> str:
    """Return `text` between fences that it cannot close. Otherwise text of others could give instructions."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def quoted(text: str, limit: int = _MAX_LOG) -> str:
    """Return the end of a text by a submission, a compiler or a model, without control characters."""
    return _CONTROL.sub("", text)[-limit:].strip()


def one_line(text: str) -> str:
    """Return a model's text as one line, so that it begins no section of its own."""
    return " ".join(quoted(text).split())


def result(node: Node) -> str:
    """Describe the result of a node in one line; for a failure, add the end of its log."""
    judged = node.judged
    if node.candidate.is_reference:
        return "result: the reference; 1.00 times the speed of eager PyTorch"
    if judged.is_right:
        return (
            f"result: right; {judged.median_us:.2f} us, {judged.speedup:.3f} times as fast as eager PyTorch "
            f"[{judged.low:.3f}, {judged.high:.3f}]"
        )
    said = quoted(judged.log)
    return f"result: failed at {judged.stage}" + (f"\n{fenced(said)}" if said else "")


def _task(view: View, count: int) -> list[Block]:
    return [Block("Task", view.brief.task)]


def _hardware(view: View, count: int) -> list[Block]:
    return [Block("Hardware", view.brief.hardware)]


def _code(view: View, count: int) -> list[Block]:
    return [_bare("Kernel to improve", view.focus[0], view)]


def _selected(view: View, count: int) -> list[Block]:
    return [_whole("Selected kernel", view.focus[0], view)]


def _root(view: View, count: int) -> list[Block]:
    root, title = view.archive.root, "Where the search began"
    if root.candidate.is_reference:  # which the task shows
        return [Block(title, result(root), (root.id,))]
    return [_whole(title, root, view)]


def _best(view: View, count: int) -> list[Block]:
    return [_whole("Best kernel so far", view.archive.best, view)]


def _profile(view: View, count: int) -> list[Block]:
    best = view.archive.best
    said = quoted(best.judged.profile, 4 * _MAX_LOG)
    return [Block("Profile of the best kernel", fenced(said) if said else "", (best.id,))]


def _findings(view: View, count: int) -> list[Block]:
    node = view.focus[0]
    said = "\n".join(f"- {one_line(finding)[:300]}" for finding in node.judged.findings)
    return [Block("Findings of the evaluator", fenced(said) if said else "", (node.id,))]


def _parents(view: View, count: int) -> list[Block]:
    return _several("Parent", view.focus, view)


def _insights(view: View, count: int) -> list[Block]:
    thoughts = [(node.id, node.candidate.thought) for node in view.archive.population() if node.candidate.thought]
    drawn = view.rng.sample(thoughts, min(count or len(thoughts), len(thoughts)))
    text = "\n".join(f"- {one_line(thought)}" for _, thought in drawn)
    return [Block("Insights from earlier kernels", text, tuple(identity for identity, _ in drawn))]


def _ladder(view: View, count: int) -> list[Block]:
    return _several("Earlier kernel, slowest first", view.archive.top(count or len(view.archive))[::-1], view)


def _programs(view: View, count: int) -> list[Block]:
    return [_bare(f"Version {number}", node, view) for number, node in enumerate(view.focus)]


def _last(view: View, count: int) -> list[Block]:
    return [_whole("Last attempt", view.focus[0], view)]


def _children(view: View, count: int) -> list[Block]:
    return _several("Tried from the selected kernel", view.archive.children(view.focus[0]), view)


def _siblings(view: View, count: int) -> list[Block]:
    return _several("Sibling of the selected kernel", view.archive.siblings(view.focus[0]), view)


def _cousins(view: View, count: int) -> list[Block]:
    return _several("Tried from a sibling", view.archive.cousins(view.focus[0]), view)


def _leaders(view: View, count: int) -> list[Block]:
    return _several("Among the fastest", view.archive.top(count or len(view.archive)), view)


def _hints(view: View, count: int) -> list[Block]:
    drawn = view.rng.sample(view.brief.hints, min(count or len(view.brief.hints), len(view.brief.hints)))
    return [Block("Ideas that often help", "\n".join(f"- {hint}" for hint in drawn))]


def _notes(view: View, count: int) -> list[Block]:
    own = {**view.focus[0].candidate.notes, **view.notes}
    return [note(role, text) for role, text in own.items()]


_SECTIONS: Mapping[str, Callable[[View, int], list[Block]]] = {
    "task": _task,
    "hardware": _hardware,
    "code": _code,
    "selected": _selected,
    "root": _root,
    "best": _best,
    "profile": _profile,
    "findings": _findings,
    "parents": _parents,
    "insights": _insights,
    "ladder": _ladder,
    "programs": _programs,
    "last": _last,
    "children": _children,
    "siblings": _siblings,
    "cousins": _cousins,
    "leaders": _leaders,
    "hints": _hints,
    "notes": _notes,
}
