"""Checks on data from outside, before it reaches a journal, a message or another prompt.

Text is limited in size and to characters that UTF-8 can carry, and freed of our keys. Numbers are taken only with the
right type and range.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from robust_kbench.agents.providers.protocol import ProviderError
from robust_kbench.schema.documents import printable, shown

MAX_ANSWER = 200_000
"""Characters of an answer at most: many times as many as the tokens that a request allows."""
MAX_ANSWER_BYTES = 4 << 20
"""Bytes of a whole response or output at most, with everything around the answer."""
_MAX_COUNT, _MAX_USD = 1_000_000_000, 1_000_000.0
_MIN_KEY = 8  # what is shorter ("none", "x") is no secret, and would be cut out of code


def without_keys(text: str, keys: Iterable[str]) -> str:
    """Return `text` with each of the keys taken out, for a program that was given a key may repeat it."""
    for key in keys:
        if len(key) >= _MIN_KEY:
            text = text.replace(key, "[key]")
    return text


def answer(text: object, keys: Iterable[str] = ()) -> str:
    """Return the text of a reply. Raises ProviderError when there is none, or far too much of it."""
    if not isinstance(text, str) or not text.strip():
        raise ProviderError("an answer without text")
    if len(text) > MAX_ANSWER:
        raise ProviderError(f"an answer of {len(text):,} characters; at most {MAX_ANSWER:,} are read")
    return printable(without_keys(text, keys))


def told(words: object, keys: Iterable[str] = (), limit: int = 300) -> str:
    """Return words from outside as one line for a message."""
    return shown(without_keys(str(words)[: 1000 * limit], keys))[:limit].strip()


def count(value: object) -> int | None:
    """Return a valid number of tokens, and None for any other value."""
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value <= _MAX_COUNT else None


def dollars(value: object) -> float | None:
    """Return a valid price in dollars, and None for any other value."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= _MAX_USD else None


def at(data: Any, *path: str | int) -> Any:
    """Return the value at this place of a JSON document; None where there is no such place."""
    for step in path:
        if isinstance(step, str):
            data = data.get(step) if isinstance(data, dict) else None
        else:
            data = data[step] if isinstance(data, list) and len(data) > step else None
    return data
