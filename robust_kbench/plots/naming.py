"""Names of the pictures of a record, on disk and inside a page."""

from __future__ import annotations

import hashlib
import re

from robust_kbench.schema.record import RunRecord
from robust_kbench.store import to_line

_MAX_PART = 80


def stem(record: RunRecord) -> str:
    """Return `<task>-<submission>-<first 8 hex digits of the record's sha256>`, of a-z, 0-9, _ and - alone.

    The digest is the whole line's, so that no other evaluation, and no other author, gets the same name.
    """
    digest = hashlib.sha256(to_line(record)).hexdigest()[:8]
    return f"{_plain(record.task)}-{_plain(record.submission)}-{digest}"


def _plain(text: str) -> str:
    return re.sub(r"[^a-z0-9_-]+", "_", text[:_MAX_PART].lower())[:_MAX_PART] or "_"
