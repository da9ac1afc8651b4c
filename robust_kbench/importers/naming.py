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
        name = name if len(name) <= _LONGEST else f"p_{name[-_TAIL:]}".replace("__", "_")
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
