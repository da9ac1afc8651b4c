"""Rules in place of a language model: they change the choices that a kernel names, for demonstrations.

A choice is a line like `constexpr int TILE = 8;  // choices: 1 2 4 8 16`. Asked for a kernel, the rules take the one
that the prompt is about and give one, two or three of its choices other values. Of several parents, each choice comes
from one of them. Asked for a plan, they mark one choice and say its new value; with a plan, they carry it out. A kernel
that failed gets a choice back that the start has. Random draws depend on the request alone. The rules read no
measurements and know nothing about kernels: faster kernels are the work of the agent's selection.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from robust_kbench.agents.context import fenced
from robust_kbench.agents.providers.protocol import Reply, Request
from robust_kbench.agents.replies import BEGIN, END
from robust_kbench.schema.submission import Submission

FORM = "improver"
NAME = "improver (rules, no language model)"
_CHOICE = re.compile(
    r"^(?P<head>[ \t]*(?:(?:static )?constexpr \w+ )?(?P<name>\w+) = )(?P<value>[\w.-]+)"
    r"(?P<gap>;?[ \t]*(?://|#) choices: )(?P<values>[\w. -]+)$",
    re.M,
)
_FENCE = re.compile(r"(?P<fence>`{3,})(?P<language>[\w+-]*)")
_INSTRUCTION = re.compile(rf"^{re.escape(BEGIN)}\nset (\w+) to ([\w.-]+)$", re.M)
_PLAN = "Note of the role plan"
_BASES = (
    "Kernel to improve",
    "Parent 1",
    "Selected kernel",
    "Last attempt",
    "Best kernel so far",
    "Where the search began",
)
_HOW_MANY = (1, 1, 2, 3)


@dataclass(frozen=True)
class _Shown:
    """Block of a prompt, under its section's title. `has_failed`: the section reports a failure."""

    title: str
    language: str
    code: str
    has_failed: bool


def can_improve(start: Submission) -> bool:
    """Tell if one of the start's files names choices."""
    return any(_choices(text) for text in start.sources.values())


class Improver:
    """Provider that answers every role of every preset by the same rules, at once and at no cost."""

    def complete(self, request: Request) -> Reply:
        """Answer by the rules, which never fail. A prompt that shows no choices gets no kernel. A token is a word."""
        prompt = request.messages[0].text
        text = _answer(prompt, random.Random(request.digest))
        asked = sum(len(message.text.split()) for message in request.messages)
        return Reply(text, NAME, asked, len(text.split()), 0.0)


def _answer(prompt: str, rng: random.Random) -> str:
    shown = [each for each in _blocks(prompt) if _CHOICE.search(each.code)]
    how = prompt.rstrip().rpartition("\n\n")[2]  # what stands above may be anybody's words
    if "FINAL VERIFICATION ANSWER" in how:
        return f"Rules look at choices alone.\nFINAL VERIFICATION ANSWER: {_is_plausible(shown)}"
    if not shown:
        return "The prompt shows no kernel that names its choices."
    base = _base(shown)
    if how.startswith("Answer in plain text."):
        return f"Rules have read nothing but the choices: {_described(base.code)}."
    if "the kernel and its spans" in how:
        return fenced(_planned(base.code, rng), base.language)
    code = _written(base, shown, rng)
    return f"name: {_described(code)}\n{{{_described(code)}}}\n{fenced(code, base.language)}\n"


def _written(base: _Shown, shown: Sequence[_Shown], rng: random.Random) -> str:
    """Return the code of the next kernel."""
    if base.has_failed:
        return _mended(base.code, shown, rng)
    instruction = next((_INSTRUCTION.search(each.code) for each in shown if each.title == _PLAN), None)
    if instruction is not None:
        return _with(base.code, {instruction[1]: instruction[2]})
    partners = _partners(base, shown)
    child = _crossed(partners, rng) if len(partners) > 1 else base.code
    return _changed(child, rng) if child in [base.code, *partners] else child


def _blocks(prompt: str) -> Iterator[_Shown]:
    """Yield all blocks of the prompt. Titles and results inside of blocks do not count."""
    title = fence = language = ""
    has_failed = False
    body: list[str] = []
    for line in prompt.split("\n"):
        if fence:
            if line == fence:
                yield _Shown(title, language, "\n".join(body), has_failed)
                fence = ""
            else:
                body.append(line)
        elif match := _FENCE.fullmatch(line):
            fence, language, body = match["fence"], match["language"], []
        elif line.startswith("## "):
            title, has_failed = line[3:], False
        elif line.startswith("result: failed"):
            has_failed = True


def _base(shown: Sequence[_Shown]) -> _Shown:
    """Return the kernel that the prompt is about; of several versions, the last."""
    by_title = {each.title: each for each in shown}
    return next((by_title[title] for title in _BASES if title in by_title), shown[-1])


def _partners(base: _Shown, shown: Sequence[_Shown]) -> list[str]:
    """Return the kernels that are to be combined: parents, or the best one with the fastest."""
    parents = [each.code for each in shown if each.title.startswith("Parent ")]
    if parents or base.title != "Best kernel so far":
        return parents
    return [base.code, *(each.code for each in shown if each.title.startswith("Among the fastest "))]


def _choices(code: str) -> dict[str, tuple[str, list[str]]]:
    return {match["name"]: (match["value"], match["values"].split()) for match in _CHOICE.finditer(code)}


def _is_plausible(shown: Sequence[_Shown]) -> bool:
    """Tell if every choice of the kernel to verify has one of the values that the kernel names for it."""
    return any(
        all(value in values for value, values in _choices(each.code).values())
        for each in shown
        if each.title == "Kernel to verify"
    )


def _with(code: str, values: dict[str, str]) -> str:
    """Return `code` with other values, as far as its choices have them."""

    def changed(match: re.Match[str]) -> str:
        value = values.get(match["name"], match["value"])
        known = value if value in match["values"].split() else match["value"]
        return f"{match['head']}{known}{match['gap']}{match['values']}"

    return _CHOICE.sub(changed, code)


def _changed(code: str, rng: random.Random) -> str:
    choices = _choices(code)
    chosen = rng.sample(sorted(choices), min(rng.choice(_HOW_MANY), len(choices)))
    return _with(code, {name: _other(*choices[name], rng) for name in chosen})


def _other(value: str, values: Sequence[str], rng: random.Random) -> str:
    return rng.choice([each for each in values if each != value] or [value])


def _crossed(partners: Sequence[str], rng: random.Random) -> str:
    found = [_choices(partner) for partner in partners]
    values = {name: rng.choice(found).get(name, (value,))[0] for name, (value, _) in found[0].items()}
    return _with(partners[0], values)


def _mended(code: str, shown: Sequence[_Shown], rng: random.Random) -> str:
    """Set one choice back to the start's value. Make any change where the start is not shown, or is no different."""
    start = next((_choices(each.code) for each in shown if each.title == "Where the search began"), {})
    differing = [name for name, (value, _) in _choices(code).items() if name in start and start[name][0] != value]
    if not differing:
        return _changed(code, rng)
    name = rng.choice(differing)
    return _with(code, {name: start[name][0]})


def _planned(code: str, rng: random.Random) -> str:
    """Return the kernel with one choice between anchors, and the new value of the choice."""
    choices = _choices(code)
    name = rng.choice(sorted(choices))
    value = _other(*choices[name], rng)
    lines = []
    for line in code.split("\n"):
        match = _CHOICE.fullmatch(line)
        lines += [BEGIN, f"set {name} to {value}", line, END] if match and match["name"] == name else [line]
    return "\n".join(lines)


def _described(code: str) -> str:
    return ", ".join(f"{name} {value}" for name, (value, _) in _choices(code).items())
