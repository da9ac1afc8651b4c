"""Lock of the machine: one measurement at a time, and none while another process builds or checks.

Readers-writer semantics over flock(2), so that a killed holder frees the lock with its file descriptor.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def _path() -> Path:
    return Path(tempfile.gettempdir()) / f"robust-kbench-{os.getuid()}.lock"


@contextmanager
def busy() -> Iterator[None]:
    """Hold the lock while building and checking: any number of evaluations at once, but no measurement."""
    with _hold(fcntl.LOCK_SH):
        yield


@contextmanager
def quiet() -> Iterator[None]:
    """Hold the lock while measuring: alone, and without any building or checking."""
    with _hold(fcntl.LOCK_EX):
        yield


@contextmanager
def _hold(mode: int) -> Iterator[None]:
    descriptor = os.open(_path(), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, mode)
        yield
    finally:
        os.close(descriptor)
