"""An append-only file of records, one JSON line each, safe under concurrent writers and kill -9."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from robust_kbench.errors import HarnessError, SpecError
from robust_kbench.schema.documents import parse
from robust_kbench.schema.record import MAX_RECORD_BYTES, SCHEMA_VERSION, RunRecord

_REASON_BYTES = (300, 100, 0)


def append(path: Path, record: RunRecord) -> None:
    """Add one record and return when it is on disk.

    A writer that was killed in mid-line leaves a torn tail without a newline; the next writer cuts it off.
    """
    line = to_line(record)
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        _cut_torn_tail(descriptor)
        written = os.write(descriptor, line)
        if written != len(line):
            raise HarnessError(f"{path}: wrote {written} of {len(line)} bytes; is the disk full?")
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def to_line(record: RunRecord) -> bytes:
    """The record as one line of JSON. Raises HarnessError when it exceeds the limit of the format."""
    data = record.model_dump(mode="json")
    for limit in (None, *_REASON_BYTES):
        line = _encode(data, limit)
        if len(line) <= MAX_RECORD_BYTES:
            return line
    raise HarnessError(f"a record of {len(line):,} bytes; the format allows {MAX_RECORD_BYTES:,}")


def _encode(data: dict[str, Any], reason_bytes: int | None) -> bytes:
    """One line. A submission words its own failures, so that reasons and its log give way before the record does."""
    cases = [{key: value for key, value in case.items() if value not in ("", None)} for case in data["cases"]]
    line = {**data, "cases": cases}
    if reason_bytes is not None:
        for worded, key in [*((case, "reason") for case in cases), (line, "reason"), (line, "log")]:
            if key in worded:
                worded[key] = worded[key].encode(errors="replace")[:reason_bytes].decode(errors="ignore")
    body = json.dumps(line, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    return body.encode(errors="replace") + b"\n"


def read(path: Path) -> Iterator[RunRecord]:
    """All records of a store, oldest first; a torn last line is not a record. Raises SpecError for a broken line."""
    try:
        text = path.read_bytes()
    except OSError as error:
        raise SpecError(f"{path}: {error.strerror}") from None
    *lines, _torn = text.split(b"\n")
    for number, line in enumerate(lines, start=1):
        yield _record(line, f"{path}:{number}")


def _record(line: bytes, where: str) -> RunRecord:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        raise SpecError(f"{where}: not a line of JSON") from None
    if not isinstance(data, dict):
        raise SpecError(f"{where}: not a record")
    version = data.get("schema_version")
    if isinstance(version, int) and version > SCHEMA_VERSION:
        raise SpecError(f"{where}: schema_version {version} is newer than this kbench reads; upgrade robust-kbench")
    return parse(RunRecord, data, where)


def _cut_torn_tail(descriptor: int) -> None:
    size = os.fstat(descriptor).st_size
    if size == 0 or os.pread(descriptor, 1, size - 1) == b"\n":
        return
    start = max(0, size - 2 * MAX_RECORD_BYTES)
    tail = os.pread(descriptor, size - start, start)
    os.ftruncate(descriptor, start + tail.rfind(b"\n") + 1)
