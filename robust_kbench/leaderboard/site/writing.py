"""Templates to files. Whatever is put into a page is made visible and escaped here, once for all of them.

Records, sources, runs and tables come from strangers. Text passes through `shown` and autoescape; data for scripts are
JSON without a character that could end a script; texts of charts, in which plotly reads tags, are escaped once more.
"""

from __future__ import annotations

import html
import json
import math
from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from robust_kbench.leaderboard.site import paths
from robust_kbench.schema.documents import shown

if TYPE_CHECKING:
    from jinja2 import Environment

MARKER = '<meta name="generator" content="robust-kbench">'
_ENDS_SCRIPT = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}
_MAX_TEXT = 500


@lru_cache(maxsize=1)
def environment() -> Environment:
    """Compiled once in each process."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    made = Environment(
        loader=FunctionLoader(_template),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        finalize=visible,
    )
    made.filters.update(
        times=times, micro=micro, percent=percent, number=number, signed=signed, lines=lines, words=words, cut=cut
    )
    made.globals.update(json_of=json_of, speedup=speedup)
    return made


def _template(name: str) -> str:
    return (resources.files("robust_kbench.leaderboard.site") / "templates" / name).read_text(encoding="utf-8")


def visible(value: Any) -> Any:
    """Text as one line that steers nothing; all else as it is. What is marked as safe has been through this before."""
    if type(value) is not str or (value.isascii() and value.isprintable()):
        return value
    return shown(value)


def lines(text: str) -> list[str]:
    """A text of several lines, each of them visible; tabs as four spaces."""
    return [visible(line.expandtabs(4)) for line in text.splitlines()]


def cut(text: str, most: int = _MAX_TEXT) -> str:
    """At most so many characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def words(name: str) -> str:
    """A name of ours as words."""
    return name.replace("_", " ")


def times(value: float | None) -> str:
    """A speedup."""
    if value is None:
        return ""
    return f"{value:.0f}×" if value >= 100 else f"{value:.2f}×"


def speedup(value: float | None, low: float | None, high: float | None) -> str:
    """With its interval."""
    if value is None:
        return ""
    return f"{times(value)} [{times(low).rstrip('×')}, {times(high).rstrip('×')}]"


def micro(value: float | None) -> str:
    """A time in microseconds."""
    if value is None:
        return ""
    return f"{value:,.0f} µs" if value >= 100 else f"{value:.1f} µs" if value >= 1 else f"{value:.3f} µs"


def percent(value: float | None) -> str:
    """A share."""
    return "" if value is None else f"{value:.1%}" if value < 0.1 else f"{value:.0%}"


def number(value: float | None, digits: int = 3) -> str:
    """With so many significant digits."""
    return "" if value is None else f"{value:,.{digits}g}"


def signed(value: float | None) -> str:
    """A relative difference around zero."""
    return "" if value is None else f"±{value:.2%}"


def json_of(data: Any) -> Any:
    """For a script element: markup can neither end it nor begin within it, and what is not finite is null."""
    from markupsafe import Markup

    return Markup(json_text(data))


def json_text(data: Any) -> str:
    """In ASCII, without `<`, `>` and `&`."""
    try:
        text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    except ValueError:
        text = json.dumps(_finite(data), allow_nan=False, separators=(",", ":"))
    for character, escaped in _ENDS_SCRIPT.items():
        text = text.replace(character, escaped)
    return text


def _finite(data: Any) -> Any:
    if isinstance(data, float):
        return data if math.isfinite(data) else None
    if isinstance(data, Mapping):
        return {key: _finite(value) for key, value in data.items()}
    return [_finite(each) for each in data] if isinstance(data, list | tuple) else data


def in_chart(text: str, most: int = 48) -> str:
    """`text` as plotly draws it letter by letter: it knows tags and entities, so these are escaped."""
    return html.escape(cut(shown(text), most), quote=False)


def render(template: str, page: str, **values: Any) -> str:
    """`page`: where the result will lie, from which links to others are relative."""
    return environment().get_template(template).render(page=page, root="../" * page.count("/"), paths=paths, **values)


def write(out: Path, page: str, text: str) -> Path:
    """Below `out`."""
    path = out / page
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode(errors="replace"))
    return path


def remove_stale(out: Path, written: Iterable[Path]) -> None:
    """What an earlier call has left and this one has not: pages of ours alone, which say so."""
    kept = set(written)
    for folder in (paths.TASKS, paths.SUBMISSIONS):
        for path in sorted((out / folder).glob("*.html")):
            if path not in kept and path.is_file() and not path.is_symlink() and _is_ours(path):
                path.unlink()


def _is_ours(path: Path) -> bool:
    with path.open("rb") as file:
        return MARKER.encode() in file.read(1000)
