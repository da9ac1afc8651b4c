"""Kernels that name their choices, such as the starts of the agents' demonstration, with other values of them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from robust_kbench.schema.submission import Submission

CHOICE = re.compile(r"^constexpr \w+ (?P<name>\w+) = (?P<value>\w+); +// choices: (?P<values>[\w ]+)$", re.M)


def code_of(kernel: Submission) -> str:
    """Return the source text that defines the kernel."""
    return kernel.sources[kernel.entry_file]


def choices(kernel: Submission) -> dict[str, tuple[str, list[str]]]:
    """Map each choice's name to its value and to all values that it may have."""
    return {match["name"]: (match["value"], match["values"].split()) for match in CHOICE.finditer(code_of(kernel))}


def chosen(kernel: Submission, values: Mapping[str, str]) -> Submission:
    """Return the same kernel with these values; choices that are not named keep theirs."""

    def line(match: re.Match[str]) -> str:
        return match[0].replace(f"= {match['value']};", f"= {values.get(match['name'], match['value'])};")

    return kernel.model_copy(update={"sources": {kernel.entry_file: CHOICE.sub(line, code_of(kernel))}})
