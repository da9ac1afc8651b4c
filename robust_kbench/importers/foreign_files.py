"""Files of others, read as text of bounded size and never executed."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatchcase
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any, TypeVar

from robust_kbench.errors import SpecError
from robust_kbench.importers.description import Unread
from robust_kbench.schema.documents import printable

MAX_SOURCE_BYTES = 1 << 20
_LONGEST_PATH = 900  # a record has room for a thousand characters
_LONGEST_ERROR = 2000  # it may repeat a key as long as its file
Item = TypeVar("Item")


def read_each(
    files: Iterable[Path], read: Callable[[Path], Iterable[Item]], unread: list[Unread] | None
) -> Iterator[Item]:
    """Read each file. One that `read` raises SpecError for is added to `unread`, and costs no other.

    Raises SpecError where `unread` is None.
    """
    for path in files:
        try:
            check_path(path)
            found = list(read(path))
        except SpecError as error:
            if unread is None:
                raise
            unread.append(unread_at(str(path), str(error).removeprefix(f"{path}: ")))
        else:
            yield from found


def files_below(folder: Path, pattern: str = "*") -> list[Path]:
    """Files and links below `folder`, in order, whose names match `pattern`; links to folders are not followed.

    Some versions of Python raise in Path.rglob where a link's target is too long a name, and some in os.walk where
    folders are nested a thousand deep.
    """
    found, left = list[Path](), [os.fspath(folder)]
    while left:
        try:
            entries = list(os.scandir(left.pop()))
        except OSError:  # not to be listed, or at too long a path
            continue
        found += [Path(entry.path) for entry in entries if fnmatchcase(entry.name, pattern)]
        left += [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
    return sorted(found)


def check_path(path: Path) -> None:
    """Raise SpecError for one that no record can hold."""
    if not str(path).isprintable() or len(str(path)) > _LONGEST_PATH:
        raise SpecError(f"{path}: its path is too long, or no text; rename it")


def unread_at(place: str, error: str) -> Unread:
    """Tell of a place that cannot be read, at a length that can be shown."""
    return Unread(printable(place)[:_LONGEST_PATH], error[:_LONGEST_ERROR])


def is_file(path: Path) -> bool:
    """Tell if there is a regular file, or a link to one. A link whose target is too long a name leads to none."""
    try:
        return path.is_file()
    except OSError:
        return False


def read_source(path: Path) -> str:
    """The text of a foreign file. Raises SpecError where it is none, or too long."""
    try:
        return TextIOWrapper(BytesIO(read_content(path)), encoding="utf-8").read()
    except UnicodeDecodeError:
        raise SpecError(f"{path}: not UTF-8 text") from None


def read_content(path: Path) -> bytes:
    """Read a foreign file. Raises SpecError where it cannot be read, or is too long."""
    try:
        if path.is_symlink():
            raise SpecError(f"{path}: a link, which is not followed; name the file that it leads to")
        if not path.is_file():
            raise SpecError(f"{path}: not a regular file")
        if path.stat().st_size > MAX_SOURCE_BYTES:
            raise SpecError(f"{path}: larger than {MAX_SOURCE_BYTES:,} bytes")
        return path.read_bytes()
    except OSError as error:
        raise SpecError(f"{path}: {error.strerror}") from None


def read_json(path: Path) -> Any:
    """The content of a JSON file. Raises SpecError."""
    return parse_json(read_source(path), str(path))


def parse_json(text: str, where: str) -> Any:
    """Parse a JSON text. Raises SpecError; keys that come twice are refused, as are numbers that are none."""
    try:
        return json.loads(text, object_pairs_hook=_without_doubles, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise SpecError(f"{where}: {error or 'nested too deeply'}") from None


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        double = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise ValueError(f"duplicate key {double!r:.80}")
    return found


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no number that JSON has")
