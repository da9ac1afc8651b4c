"""Kernels that Triton has compiled in one worker, for other workers of the same contestant: half a second for each.

They are the contestant's own: whatever lies there could lie in its source as well. The judge copies them while a worker
is stopped, follows no link, replaces no file, and rewrites nothing but the paths in Triton's lists of files.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import stat
import threading
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

CACHE = (".triton", "cache")
"""Triton's folder in a worker's own."""
_KEY, _NAME = re.compile(r"[A-Z0-9]{20,80}"), re.compile(r"[\w\-][\w.\-]{0,200}")
_LIST, _UNFINISHED = "__grp__", "tmp."
_MOST_FILES, _MOST_KEYS = 24, 400
_MOST_LISTED_BYTES, _MOST_KERNEL_BYTES, _MOST_BYTES = 1 << 14, 8 << 20, 96 << 20
"""Of a list of files, of a kernel, and of all. What is beyond is compiled again."""
_LONGEST_S = 1.0
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True)
class _Kernel:
    """Contents of files by name, and names of files by the name of the list that has them."""

    files: dict[str, bytes]
    lists: dict[str, list[str]]


class Compiled:
    """Kernels by Triton's keys. Any thread may collect them and hand them out."""

    def __init__(self) -> None:
        self._kernels: dict[str, _Kernel] = {}
        self._refused: set[str] = set()
        self._bytes = 0
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[type[Compiled], tuple[()]]:
        return Compiled, ()  # another process has its own

    def collect(self, scratch: Path) -> None:
        """Copy what is new in the folder of a stopped worker, as far as that takes little time."""
        deadline = time.monotonic() + _LONGEST_S
        with self._lock, contextlib.suppress(OSError), _opened_cache(scratch) as cache:
            self._collect(cache, deadline)

    def exchange(self, scratch: Path) -> None:
        """Do the same, and write into that folder what other workers have compiled, if it has a cache by now."""
        deadline = time.monotonic() + _LONGEST_S
        with self._lock, contextlib.suppress(OSError), _opened_cache(scratch) as cache:
            present = self._collect(cache, deadline)
            self._hand_on(scratch, cache, present, deadline)

    def hand_out(self, scratch: Path) -> None:
        """Write all into the folder of a worker that has loaded nothing yet. What finds no room is compiled again."""
        with self._lock, contextlib.suppress(OSError):
            if self._kernels:
                scratch.joinpath(*CACHE).mkdir(parents=True)
                with _opened_cache(scratch) as cache:
                    self._hand_on(scratch, cache, (), math.inf)

    def _collect(self, cache: int, deadline: float) -> Collection[str]:
        """Add what is new in a cache, and return the keys that it has."""
        present = set(_names(cache, _KEY, _MOST_KEYS))
        for key in present - self._kernels.keys() - self._refused:
            if len(self._kernels) >= _MOST_KEYS or time.monotonic() > deadline:
                break
            with contextlib.suppress(OSError):
                self._add(key, cache)
        return present

    def _hand_on(self, scratch: Path, cache: int, present: Collection[str], deadline: float) -> None:
        """Write kernels that are not `present` into a cache. Raises OSError where there is no room."""
        for key, kernel in self._kernels.items():
            if key in present:
                continue
            if time.monotonic() > deadline:
                return
            with contextlib.suppress(FileExistsError):  # of a worker with more kernels than are looked at
                os.mkdir(key, dir_fd=cache)
                with _opened(key, cache) as folder:
                    _write(kernel, folder, scratch.joinpath(*CACHE, key))

    def _add(self, key: str, cache: int) -> None:
        room_bytes = min(_MOST_KERNEL_BYTES, _MOST_BYTES - self._bytes)
        with _opened(key, cache) as folder:
            found = _contents(folder, room_bytes)
        lists = {name: content for name, content in found.items() if name.startswith(_LIST)}
        files = {name: content for name, content in found.items() if name not in lists}
        if not lists:
            self._refused.add(key)
            return
        self._kernels[key] = _Kernel(files, {name: _listed(content, files) for name, content in lists.items()})
        self._bytes += sum(map(len, files.values()))


def _write(kernel: _Kernel, folder: int, path: Path) -> None:
    """Write a kernel's files into a `folder` whose name for the worker is `path`."""
    lists = {name: {each: str(path / each) for each in listed} for name, listed in kernel.lists.items()}
    contents = {name: json.dumps({"child_paths": paths}).encode() for name, paths in lists.items()}
    for name, content in (kernel.files | contents).items():  # lists come last: without them a kernel is not complete
        with os.fdopen(os.open(name, _NEW_FILE, 0o644, dir_fd=folder), "wb") as file:
            file.write(content)


@contextlib.contextmanager
def _opened_cache(scratch: Path) -> Iterator[int]:
    with contextlib.ExitStack() as stack:
        cache = stack.enter_context(_opened(str(scratch)))
        for name in CACHE:
            cache = stack.enter_context(_opened(name, cache))
        yield cache


@contextlib.contextmanager
def _opened(name: str, folder: int | None = None) -> Iterator[int]:
    descriptor = os.open(name, _FOLDER, dir_fd=folder)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _names(folder: int, wanted: re.Pattern[str], most: int) -> Iterator[str]:
    """Yield names in a folder, in no order. A folder may hold any number of them."""
    with os.scandir(folder) as entries:
        for looked_at, entry in enumerate(entries):
            if looked_at >= 4 * most:
                return
            if wanted.fullmatch(entry.name) and most > 0:
                most -= 1
                yield entry.name


def _contents(folder: int, room_bytes: int) -> dict[str, bytes]:
    """Contents of the files in a kernel's folder; nothing where one is too large, or is no plain file."""
    found: dict[str, bytes] = {}
    for name in _names(folder, _NAME, _MOST_FILES + 1):
        if name.startswith(_UNFINISHED):
            continue
        content = _read(name, folder, _MOST_LISTED_BYTES if name.startswith(_LIST) else room_bytes)
        if content is None or len(found) >= _MOST_FILES:  # without one of its files a kernel cannot be loaded
            return {}
        room_bytes -= len(content)
        found[name] = content
    return found


def _read(name: str, folder: int, most_bytes: int) -> bytes | None:
    """Content of a regular file that has no other name; None for anything else, and for what is too large."""
    try:
        descriptor = os.open(name, _FILE, dir_fd=folder)
    except OSError:  # a link, for one
        return None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1 or status.st_size > most_bytes:
            return None
        with os.fdopen(os.dup(descriptor), "rb") as file:
            content = file.read(most_bytes + 1)
        return content if len(content) <= most_bytes else None
    finally:
        os.close(descriptor)


def _listed(content: bytes, files: dict[str, bytes]) -> list[str]:
    """Names in a list of files as Triton keeps it, of those that are there."""
    try:
        listed = json.loads(content)["child_paths"]
        return [name for name in files if name in listed]
    except (ValueError, TypeError, KeyError, RecursionError):
        return []
