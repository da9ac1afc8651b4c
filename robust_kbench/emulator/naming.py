"""Names made of the user's names; in a macro the preprocessor has to make them, from its arguments."""

from __future__ import annotations

from robust_kbench.emulator.stream import Stream


def quoted(stream: Stream, first: int, end: int) -> str:
    """A string literal that says what the tokens say."""
    pieces: list[str] = []
    plain = ""
    for index in range(first, end):
        text = stream.text(index)
        if text in stream.parameters:
            pieces += [_literal(plain), f"#{text}"] if plain else [f"#{text}"]
            plain = ""
        elif text != "##":
            plain += text
    return " ".join([*pieces, _literal(plain)] if plain or not pieces else pieces)


def _literal(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def derived(stream: Stream, prefix: str, first: int, end: int) -> str:
    """An identifier that differs wherever the name in the tokens differs."""
    name = stream.render(first, end)
    within_macro = any(text in stream.parameters or text == "##" for text in map(stream.text, range(first, end)))
    return f"{prefix}##{name}" if within_macro else prefix + name


def name_end(stream: Stream, first: int) -> int:
    """Behind the name that begins at `first`: in a macro it may be pasted together."""
    end = first + 1
    while stream.text(end) == "##":
        end += 2
    return end
