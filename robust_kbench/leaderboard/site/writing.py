"""Templates rendered to files. All text that enters a page is made visible and escaped here.

Records, sources, runs and tables come from strangers. Text passes through `shown` and autoescape. Data for scripts are
JSON without a character that could end a script. Texts of charts, in which plotly reads tags, are escaped once more.
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
    """Return the environment of the templates, made once in each process."""
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
    """Return text as one line that steers nothing, and other values as they are.

    Markup that is marked as safe has been through this before.
    """
    if type(value) is not str or (value.isascii() and value.isprintable()):
        return value
    return shown(value)


def lines(text: str) -> list[str]:
    """Split a text into lines, each of them visible, with tabs as up to four spaces."""
    return [visible(line.expandtabs(4)) for line in text.splitlines()]


def cut(text: str, most: int = _MAX_TEXT) -> str:
    """Cut a text to at most so many characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def words(name: str) -> str:
    """Return a name of ours as words."""
    return name.replace("_", " ")


def times(value: float | None) -> str:
    """Format a speedup; empty if there is none."""
    if value is None:
        return ""
    return f"{value:.0f}×" if value >= 100 else f"{value:.2f}×"


def speedup(value: float | None, low: float | None, high: float | None) -> str:
    """Format a speedup with its interval; empty if there is none."""
    if value is None:
        return ""
    return f"{times(value)} [{times(low).rstrip('×')}, {times(high).rstrip('×')}]"


def micro(value: float | None) -> str:
    """Format a time in microseconds; empty if there is none."""
    if value is None:
        return ""
    return f"{value:,.0f} µs" if value >= 100 else f"{value:.1f} µs" if value >= 1 else f"{value:.3f} µs"


def percent(value: float | None) -> str:
    """Format a share as a percentage; empty if there is none."""
    return "" if value is None else f"{value:.1%}" if value < 0.1 else f"{value:.0%}"


def number(value: float | None, digits: int = 3) -> str:
    """Format a number with so many significant digits; empty if there is none."""
    return "" if value is None else f"{value:,.{digits}g}"


def signed(value: float | None) -> str:
    """Format a relative difference around zero; empty if there is none."""
    return "" if value is None else f"±{value:.2%}"


def json_of(data: Any) -> Any:
    """Return JSON for a script element: markup can neither end it nor begin within it.

    Numbers that are not finite become null.
    """
    from markupsafe import Markup

    return Markup(json_text(data))


def json_text(data: Any) -> str:
    """Return JSON in ASCII, without `<`, `>` and `&`. Numbers that are not finite become null."""
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
    """Escape `text` for plotly, which knows tags and entities, so that it is drawn letter by letter."""
    return html.escape(cut(shown(text), most), quote=False)


def render(template: str, page: str, **values: Any) -> str:
    """Render a template. `page`: path of the result, from which links to others are relative."""
    return environment().get_template(template).render(page=page, root="../" * page.count("/"), paths=paths, **values)


def write(out: Path, page: str, text: str) -> Path:
    """Write a page below `out`, and return its path."""
    path = out / page
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode(errors="replace"))
    return path


def remove_stale(out: Path, written: Iterable[Path]) -> None:
    """Delete pages that an earlier call has left and this one has not written.

    Only pages of ours are deleted, which carry a marker.
    """
    kept = set(written)
    for folder in (paths.TASKS, paths.SUBMISSIONS):
        for path in sorted((out / folder).glob("*.html")):
            if path not in kept and path.is_file() and not path.is_symlink() and _is_ours(path):
                path.unlink()


def _is_ours(path: Path) -> bool:
    with path.open("rb") as file:
        return MARKER.encode() in file.read(1000)
