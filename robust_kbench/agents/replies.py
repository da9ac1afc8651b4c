"""Parsers of a model's reply: from text to a kernel, a plan or a verdict. Nothing in it is trusted or executed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import accumulate, count

BEGIN, END = "<<<IMPROVE BEGINS>>>", "<<<IMPROVE ENDS>>>"
"""Lines around the part that a planner wants changed, with its instructions."""
_OPENING = re.compile(r"(?P<fence>`{3,})[ \t]*(?P<language>[\w+#-]*)")
_CLOSING = re.compile(r"(?P<fence>`{3,})\s*")
_LANGUAGES = {
    "cpp": ("cpp", "c++", "cc", "cxx", "c", "cuda", "cu"),
    "cuda": ("cuda", "cu", "cpp", "c++", "cc", "cxx", "c"),
    "python": ("python", "py", "python3"),
    "triton": ("python", "py", "python3", "triton"),
}
# A reply may be nothing but spaces or ends of lines: no two parts of an expression may share a run of them.
_FIELD = r"^[ \t>*#-]*{name}[ \t*]*:[ \t*]*(.+)$"
_VERDICT = re.compile(r"FINAL VERIFICATION ANSWER\W*(true|false)", re.I)
_MAX_NAME, _MAX_THOUGHT = 80, 1000


@dataclass(frozen=True)
class Written:
    """Kernel as a model wrote it, with its name and idea. `code` is empty where there was none."""

    code: str
    name: str = ""
    thought: str = ""


def written(text: str, language: str) -> Written:
    """Find the kernel in a reply, and its name and idea.

    The kernel is the longest block in the language, else the longest block, else a reply that is all code. Name and
    idea may stand anywhere outside of blocks, in any order. The idea may also stand in braces, as EoH has it.
    """
    found, outside = _blocks(text)
    own = [body for tag, body in found if tag in _LANGUAGES[language]]
    code = max(own or [body for _, body in found], key=len, default="")
    if not code and _looks_like_code(text, language):
        code, outside = text.strip(), ""
    thought = _field(outside, "thought|idea|approach|description") or _in_braces(outside)
    return Written(code, _field(outside, "name")[:_MAX_NAME], thought[:_MAX_THOUGHT])


def _blocks(text: str) -> tuple[list[tuple[str, str]], str]:
    """Return languages and bodies of the fenced blocks, and the text outside. A fence that is never closed is text.

    The search takes one pass, as a reply may be nothing but fences.
    """
    lines = text.split("\n")
    closing = [len(match["fence"]) if (match := _CLOSING.fullmatch(line)) else 0 for line in lines]
    longest_behind = [*accumulate(reversed(closing), max)][::-1][1:] + [0]
    found: list[tuple[str, str]] = []
    outside: list[str] = []
    at = 0
    while at < len(lines):
        opening = _OPENING.match(lines[at])
        if opening is None or longest_behind[at] < len(opening["fence"]):
            outside.append(lines[at])
            at += 1
            continue
        end = next(number for number in count(at + 1) if closing[number] >= len(opening["fence"]))
        found.append((opening["language"].lower(), "\n".join(lines[at + 1 : end]).strip()))
        at = end + 1
    return found, "\n".join(outside)


def _looks_like_code(text: str, language: str) -> bool:
    signs = r"(def |import |from )" if language in ("python", "triton") else r"(#include|extern \"C\"|__global__)"
    return re.search(rf"^[^\S\n]*{signs}", text, re.M) is not None


def _field(text: str, name: str) -> str:
    match = re.search(_FIELD.format(name=f"(?:{name})"), text, re.M | re.I)
    return match[1].rstrip().strip(" *`") if match else ""


def _in_braces(text: str) -> str:
    match = re.search(r"\{([^{}]{3,})\}", text)
    return match[1].strip() if match else ""


def verdict(text: str) -> bool | None:
    """Return the last answer of a verifier; None where the reply has none."""
    answers = _VERDICT.findall(text)
    return answers[-1].lower() == "true" if answers else None


def anchors_left(code: str) -> bool:
    """Tell if a coder has left anchors of a plan in the kernel."""
    return "<<<IMPROVE" in code


def plan_problem(plan: str, parent: str) -> str:
    """Describe the problem of an anchored plan for `parent`; empty where there is none.

    Anchors have to stand on lines of their own, balanced and not nested. Outside of them the kernel has to be
    unchanged. Between a pair of them there may be anything, at the place of any part of the kernel.
    """
    outside: list[list[str]] = [[]]
    is_inside = False
    for line in plan.splitlines():
        mark = line.strip().strip("/#* ")
        if mark in (BEGIN, END):
            if (mark == BEGIN) == is_inside:
                return "anchors are nested or not balanced"
            is_inside = not is_inside
            outside += [[]] if is_inside else []
        elif not is_inside:
            outside[-1].append(line.rstrip())
    if is_inside:
        return "anchors are nested or not balanced"
    if len(outside) == 1:
        return "no anchors"
    return (
        "" if _follow(outside, [line.rstrip() for line in parent.splitlines()]) else "changes lines outside of anchors"
    )


def _follow(parts: list[list[str]], lines: list[str]) -> bool:
    """Tell if `lines` begin with the first part, end with the last one, and have the others between, in order."""
    first, *middle, last = map(_solid, parts)
    text = _solid(lines)
    if not (text.startswith(first) and text.endswith(last) and len(first) + len(last) <= len(text)):
        return False
    at, end = len(first), len(text) - len(last)
    for part in middle:
        place = text.find(part, at, end)
        if place < 0:
            return False
        at = place + len(part)
    return True


def _solid(lines: list[str]) -> str:
    """Join the lines that are not empty, so that a part is found in linear time, and only where lines begin."""
    return "".join(f"\n{line}\n" for line in lines if line)
