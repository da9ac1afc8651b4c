"""Sources of submissions, found by their digest: a page shows the text that was judged, or none."""

from __future__ import annotations

import html
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from robust_kbench.errors import KBenchError
from robust_kbench.leaderboard.site.writing import lines
from robust_kbench.registry import read_submission, submission_folders

if TYPE_CHECKING:
    from markupsafe import Markup

_MAX_FILE, _MAX_ALL = 60_000, 240_000
_LEXERS = {".py": "python", ".cpp": "cpp", ".cc": "cpp", ".h": "cpp", ".cuh": "cuda", ".cu": "cuda"}


@dataclass(frozen=True)
class SourceFile:
    """Source file, ready for a page. `is_cut`: there is more of it than is shown."""

    name: str
    text: Markup
    is_cut: bool


def find(folders: Iterable[Path]) -> dict[str, Path]:
    """Find every submission at or below `folders` by its digest, the first of equal ones.

    Malformed ones are left out.
    """
    found: dict[str, Path] = {}
    for root in folders:
        for folder in submission_folders(root):
            try:
                found.setdefault(read_submission(folder).digest, folder)
            except (KBenchError, OSError, ValueError, RecursionError):
                continue
    return found


def files(folder: Path, digest: str) -> list[SourceFile]:
    """Return the files of the submission in `folder`, the entry first; none if their common digest is another."""
    try:
        submission = read_submission(folder)
        if submission.digest != digest:
            return []
    except (KBenchError, OSError, ValueError, RecursionError):
        return []
    names = sorted(submission.sources, key=lambda name: (name != submission.entry_file, name))
    shown, left = [], _MAX_ALL
    for name in names:
        text = submission.sources[name]
        most = min(_MAX_FILE, left)
        shown.append(SourceFile(name, highlighted(text[:most], name), len(text) > most))
        left -= min(len(text), most)
    return shown


def highlighted(text: str, name: str) -> Markup:
    """Return markup with classes for all that pygments knows.

    Characters that would steer or hide text are made visible before.
    """
    from markupsafe import Markup

    plain = "\n".join(lines(text)) + "\n"
    kind = _LEXERS.get(Path(name).suffix)
    if kind is None:
        return Markup(html.escape(plain))
    from pygments import highlight

    return Markup(highlight(plain, _lexer(kind), _formatter()))


@lru_cache(maxsize=8)
def _lexer(kind: str) -> Any:
    from pygments.lexers import get_lexer_by_name

    return get_lexer_by_name(kind, stripnl=False)


@lru_cache(maxsize=1)
def _formatter() -> Any:
    from pygments.formatters import HtmlFormatter

    return HtmlFormatter(nowrap=True)
