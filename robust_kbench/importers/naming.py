"""Names of ours for those that others gave: lower case, short, and each once."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable

from robust_kbench.schema.task import KEYWORDS

_LONGEST = 40
_TAIL = 34


class Names:
    """Names that are given out, none of them twice."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def give(self, wanted: str, more: str = "size") -> str:
        """`wanted`, or something near it."""
        name = re.sub(r"[^a-z0-9]+", "_", wanted.lower()).strip("_") or "x"
        name = name if name[0].isalpha() else f"n{name}"
        name = name if len(name) <= _LONGEST else f"p_{_tail(name)}"
        if keyword.iskeyword(name) or name in KEYWORDS or name in self._taken:
            name = f"{name[:_TAIL]}_{more}"
        number = 2
        while name in self._taken:
            name, number = f"{name.rstrip('0123456789')[:_TAIL]}{number}", number + 1
        self._taken.add(name)
        return name

    def give_all(self, wanted: Iterable[str], more: str = "size") -> dict[str, str]:
        """The same for many: theirs -> ours."""
        return {name: self.give(name, more) for name in wanted}


def _tail(name: str) -> str:
    """Whole words from the end, where the words are not longer than that."""
    cut = name[-_TAIL:]
    starts_a_word = name[-_TAIL - 1] == "_"
    return (cut if starts_a_word else cut.partition("_")[2] or cut).strip("_")
