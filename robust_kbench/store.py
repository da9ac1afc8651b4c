"""An append-only file of records, one JSON line each, safe under concurrent writers and kill -9."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from pathlib import Path

from robust_kbench.errors import HarnessError, SpecError
from robust_kbench.schema.documents import parse
from robust_kbench.schema.record import MAX_RECORD_BYTES, SCHEMA_VERSION, RunRecord


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
    line = json.dumps(record.model_dump(mode="json"), allow_nan=False, separators=(",", ":")).encode() + b"\n"
    if len(line) > MAX_RECORD_BYTES:
        raise HarnessError(f"a record of {len(line):,} bytes; the format allows {MAX_RECORD_BYTES:,}")
    return line


def read(path: Path) -> Iterator[RunRecord]:
    """All records of a store, oldest first; a torn last line is not a record. Raises SpecError for a broken line."""
    try:
        text = path.read_bytes()
    except OSError as error:
        raise SpecError(f"{path}: {error.strerror}") from None
    for number, line in enumerate(text.splitlines(keepends=True), start=1):
        if line.endswith(b"\n"):
            yield _record(line, f"{path}:{number}")


def _record(line: bytes, where: str) -> RunRecord:
    try:
        data = json.loads(line)
    except ValueError:
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
