"""An append-only file of records, one JSON line each, safe under concurrent writers and kill -9."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from robust_kbench.errors import HarnessError, SpecError
from robust_kbench.schema.documents import canonical, compact, parse
from robust_kbench.schema.record import MAX_RECORD_BYTES, SCHEMA_VERSION, RunRecord

_REASON_BYTES = (300, 100, 0)
SEAL = ("digest", "signature")
_SEAL_BYTES = 400


def append(path: Path, record: RunRecord) -> None:
    """Add one record and return when it is on disk.

    A writer that was killed in mid-line leaves a torn tail without a newline. The next writer cuts it off.
    """
    append_line(path, to_line(record))


def append_line(path: Path, line: bytes) -> None:
    """Add any line of JSON that ends with a newline, and return when it is on disk. A torn tail is cut off."""
    with locked(path) as descriptor:
        _cut_torn_tail(descriptor)
        written = os.write(descriptor, line)
        if written != len(line):
            raise HarnessError(f"{path}: wrote {written} of {len(line)} bytes; is the disk full?")
        os.fsync(descriptor)


@contextmanager
def locked(path: Path) -> Iterator[int]:
    """Open the file of `path`, and lock out other writers until it is left.

    A missing file is made. Raises SpecError.
    """
    while True:
        descriptor = _opened(path)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if _is_at(path, descriptor):  # else another has replaced it while this one waited
                yield descriptor
                return
        finally:
            os.close(descriptor)


def _opened(path: Path) -> int:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise SpecError(f"{path}: {error.strerror}") from None


def _is_at(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def replace(path: Path, lines: Iterable[bytes]) -> None:
    """Put `lines` in the place of all that `path` holds, or change nothing.

    The caller must have it `locked`, and it must not be a link.
    """
    temporary = path.with_name(f".{path.name}.new")
    try:
        with temporary.open("wb") as file:
            os.fchmod(file.fileno(), path.stat().st_mode & 0o7777)
            file.writelines(lines)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        raise HarnessError(f"{path}: {error.strerror}; it is as it was") from None
    finally:
        temporary.unlink(missing_ok=True)


def to_line(record: RunRecord) -> bytes:
    """Return the record as one line of JSON. Raises HarnessError when it exceeds the limit of the format.

    A record with a digest is written as it was digested, so that a reader can check the line instead of writing it
    anew.
    """
    if not record.digest:
        return _fitting(record, MAX_RECORD_BYTES)
    line = canonical(record, without=set(SEAL))[:-1] + seal_of(record) + b"\n"
    if len(line) > MAX_RECORD_BYTES:
        raise HarnessError(f"a record of {len(line):,} bytes; the format allows {MAX_RECORD_BYTES:,}")
    return line


def seal_of(record: RunRecord) -> bytes:
    """Return the end of the line of a record with a digest."""
    signature = record.signature
    signed = {"signature": {"key": signature.key, "value": signature.value}} if signature else {}
    return b"," + compact({"digest": record.digest, **signed})[1:]


def as_kept(record: RunRecord) -> RunRecord:
    """Return `record` as a store would give it back, without digest and signature, for which there is room."""
    bare = record.model_copy(update={"digest": "", "signature": None})
    return parse_line(_fitting(bare, MAX_RECORD_BYTES - _SEAL_BYTES), record.submission)


def as_json(record: RunRecord) -> dict[str, Any]:
    """Return all keys of the record, except empty ones of cases and of the seal."""
    data = record.model_dump(mode="json")
    cases = [{key: value for key, value in case.items() if value not in ("", None)} for case in data["cases"]]
    return {key: value for key, value in {**data, "cases": cases}.items() if value or key not in SEAL}


def _fitting(record: RunRecord, most_bytes: int) -> bytes:
    """Return one line of at most `most_bytes`. Raises HarnessError if it would be longer.

    A submission words its own failures, so reasons and its log are shortened before the record is refused.
    """
    line = as_json(record)
    for limit in (None, *_REASON_BYTES):
        if limit is not None:
            _shorten(line, limit)
        body = json.dumps(line, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
        encoded = body.encode(errors="replace") + b"\n"
        if len(encoded) <= most_bytes:
            return encoded
    raise HarnessError(f"a record of {len(encoded):,} bytes; the format allows {most_bytes:,}")


def _shorten(line: dict[str, Any], reason_bytes: int) -> None:
    for worded, key in [*((case, "reason") for case in line["cases"]), (line, "reason"), (line, "log")]:
        if key in worded:
            worded[key] = worded[key].encode(errors="replace")[:reason_bytes].decode(errors="ignore")


def read(path: Path) -> Iterator[RunRecord]:
    """Yield all records of a store, oldest first.

    A torn last line is not a record. Raises SpecError for a broken line.
    """
    try:
        text = path.read_bytes()
    except OSError as error:
        raise SpecError(f"{path}: {error.strerror}") from None
    *lines, _torn = text.split(b"\n")
    for number, line in enumerate(lines, start=1):
        yield parse_line(line, f"{path}:{number}")


def parse_line(line: bytes, where: str) -> RunRecord:
    """Parse the record of one line. Raises SpecError, which begins with `where`."""
    try:
        return RunRecord.model_validate_json(line)
    except ValidationError:
        return _parse_slowly(line, where)  # which finds the words for what is wrong


def view_line(line: bytes, where: str) -> RunRecord:
    """Parse a line for reading alone, in a third of the time. The result has no method of a model, see `views`."""
    try:
        return _reader()(line)
    except ValueError:
        return parse_line(line, where)


@cache
def _reader() -> Callable[[bytes], RunRecord]:
    from robust_kbench.schema.views import reader

    return reader(RunRecord)


def _parse_slowly(line: bytes, where: str) -> RunRecord:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        raise SpecError(f"{where}: not a line of JSON") from None
    if not isinstance(data, dict):
        raise SpecError(f"{where}: not a record")
    version = data.get("schema_version")
    if isinstance(version, int) and version > SCHEMA_VERSION:
        raise SpecError(f"{where}: schema_version {version} is newer than this kbench reads; upgrade robust-kbench")
    try:
        return parse(RunRecord, data, where)
    except RecursionError:
        raise SpecError(f"{where}: nested too deeply") from None


def _cut_torn_tail(descriptor: int) -> None:
    size = os.fstat(descriptor).st_size
    if size == 0 or os.pread(descriptor, 1, size - 1) == b"\n":
        return
    start = max(0, size - 2 * MAX_RECORD_BYTES)
    tail = os.pread(descriptor, size - start, start)
    os.ftruncate(descriptor, start + tail.rfind(b"\n") + 1)
