"""Foreign text made fit for a terminal and for a prompt."""

from __future__ import annotations

from robust_kbench.schema.documents import printable

_MAX_CHARACTERS = 400


def shown(text: str, max_characters: int = _MAX_CHARACTERS) -> str:
    """Return one line of at most `max_characters`, without characters that move a cursor or hide later text."""
    line = "".join(character if character.isprintable() else " " for character in printable(text))
    return line if len(line) <= max_characters else f"{line[: max_characters - 1]}…"
