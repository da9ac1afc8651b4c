"""Files with the pictures of a record."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from pathlib import Path

from robust_kbench.errors import UsageError
from robust_kbench.plots.naming import stem
from robust_kbench.plots.panels import CaseKey
from robust_kbench.plots.picture import svg
from robust_kbench.plots.terminal import text
from robust_kbench.schema.record import RunRecord


def write(record: RunRecord, folder: Path, floors_us: Mapping[CaseKey, float] | None = None) -> list[Path]:
    """Write `<stem>.svg` and `<stem>.txt`, and return their paths; nothing for a record that was not timed.

    A reader never sees half a file. Raises UsageError where the folder cannot be written.
    """
    if not record.timings:
        return []
    pictures = {".svg": svg(record, floors_us), ".txt": text(record, floors_us=floors_us)}
    paths = {folder / f"{stem(record)}{suffix}": content for suffix, content in pictures.items()}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, content in paths.items():
            _replace(path, content.encode())
    except OSError as error:
        raise UsageError(f"{folder}: {error.strerror}; name a folder that can be written") from None
    return list(paths)


def _replace(path: Path, content: bytes) -> None:
    """Write a new file beside `path`, then move it over `path`. A link that lies there is replaced, not followed."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with draft.open("xb") as file:
            file.write(content)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
