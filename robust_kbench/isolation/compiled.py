"""What Triton has compiled in one worker, for later workers of the same contestant: half a second for each kernel.

It is the contestant's own: whatever lies there could lie in its source as well. The judge copies it while the worker is
stopped, follows no link, and rewrites nothing but the paths in Triton's lists of files.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

CACHE = (".triton", "cache")
"""Triton's folder in a worker's own."""
_KEY, _NAME = re.compile(r"[A-Z0-9]{20,80}"), re.compile(r"[\w\-][\w.\-]{0,200}")
_LIST = "__grp__"
_MOST_FILES, _MOST_BYTES, _MOST_KEYS = 24, 96 << 20, 400
"""Files of a kernel, and bytes and kernels altogether. What is beyond is compiled again."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Compiled:
    """Kernels by Triton's keys. Any thread may collect them and hand them out."""

    def __init__(self) -> None:
        self._kernels: dict[str, dict[str, bytes]] = {}
        self._bytes = 0
        self._lock = threading.Lock()

    def collect(self, scratch: Path) -> None:
        """Copy what is new in the folder of a stopped worker."""
        with self._lock, contextlib.suppress(OSError), contextlib.ExitStack() as stack:
            cache = stack.enter_context(_opened(str(scratch)))
            for name in CACHE:
                cache = stack.enter_context(_opened(name, cache))
            for key in _names(cache, _KEY, _MOST_KEYS):
                if key in self._kernels or len(self._kernels) >= _MOST_KEYS:
                    continue
                with contextlib.suppress(OSError):
                    self._add(key, cache)

    def hand_out(self, scratch: Path) -> None:
        """Write all into the folder of a worker that has loaded nothing yet."""
        with self._lock:
            for key, files in self._kernels.items():
                folder = scratch.joinpath(*CACHE, key)
                folder.mkdir(parents=True)
                for name, content in files.items():
                    (folder / name).write_bytes(_listed(content, files, folder) if name.startswith(_LIST) else content)

    def _add(self, key: str, cache: int) -> None:
        with _opened(key, cache) as folder:
            names = list(_names(folder, _NAME, _MOST_FILES))
            files = {name: _read(name, folder, _MOST_BYTES - self._bytes) for name in names}
        found = {name: content for name, content in files.items() if content is not None}
        size = sum(map(len, found.values()))
        # A list comes last: without one, a kernel is not complete.
        if any(name.startswith(_LIST) for name in found) and self._bytes + size <= _MOST_BYTES:
            self._kernels[key] = found
            self._bytes += size


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
        for entry in entries:
            if wanted.fullmatch(entry.name):
                yield entry.name
                most -= 1
            if most <= 0:
                return


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


def _listed(content: bytes, files: dict[str, bytes], folder: Path) -> bytes:
    """A list of files as Triton keeps it, with where they are now."""
    try:
        listed = json.loads(content)["child_paths"]
        names = [name for name in files if name in listed]
    except (ValueError, TypeError, KeyError, RecursionError):
        names = []
    return json.dumps({"child_paths": {name: str(folder / name) for name in names}}).encode()
