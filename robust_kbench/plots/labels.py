"""Text of a picture. Names come from hostile files, so text for a page or a terminal is made visible and bounded."""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from itertools import accumulate
from xml.sax.saxutils import escape

from robust_kbench.schema.documents import printable
from robust_kbench.schema.record import RunRecord
from robust_kbench.timing.statistics import Ratio

MEDIAN_CHARACTERS = 12
RATIO_CHARACTERS = 22


def visible(text: str, cells: int) -> str:
    """Return text of at most `cells` cells of a terminal.

    Characters without a shape of their own are replaced: control characters, changes of direction, marks stacked on
    others.
    """
    characters = unicodedata.normalize("NFC", printable(text))
    clean = "".join("\ufffd" if _is_shapeless(character) else character for character in characters)
    ends = [*accumulate(map(cells_of, clean))]
    if not ends or ends[-1] <= cells:
        return clean
    return f"{clean[: bisect_right(ends, cells - 1)]}…"


def cells_of(text: str) -> int:
    """Return the width of a text in cells of a terminal."""
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)


def _is_shapeless(character: str) -> bool:
    return not character.isprintable() or unicodedata.category(character).startswith("M")


def padded(text: str, cells: int) -> str:
    """Return the `visible` text, filled with spaces on the right."""
    clean = visible(text, cells)
    return clean + " " * (cells - cells_of(clean))


def escaped(text: str, cells: int) -> str:
    """Return the `visible` text, as the content of an XML element or of an attribute in double quotes."""
    return escape(visible(text, cells), {'"': "&quot;"})


def time(value_us: float) -> str:
    """Format microseconds with about four digits, in at most `MEDIAN_CHARACTERS` for all that a record can hold."""
    decimals = 0 if value_us >= 1000 else 1 if value_us >= 100 else 2 if value_us >= 10 else 3
    return f"{value_us:,.{decimals}f} us"


def speedup(ratio: Ratio) -> str:
    """Format a speedup as reports do, with fewer digits where these are many; at most `RATIO_CHARACTERS`."""
    text = str(ratio)
    if len(text) > RATIO_CHARACTERS:
        text = f"{ratio.value:.3g}x [{ratio.low:.3g}, {ratio.high:.3g}]"
    return visible(text, RATIO_CHARACTERS)


def heading(record: RunRecord) -> tuple[str, str]:
    """Return two headings: task and submission, then status, conditions and device of the run."""
    device = record.environment.get("device", record.device)
    what = f"{record.task}  {record.submission} ({record.language})"
    return what, f"{record.status.value}, {record.execution}, tier {record.tier}, seed {record.seed}, on {device}"
