"""Memory that two processes share and neither can resize."""

from __future__ import annotations

import fcntl
import os

# Linux values that Python's fcntl module names only from 3.12 on for some of them.
_ADD_SEALS, _SEAL_SEAL, _SEAL_SHRINK, _SEAL_GROW = 1033, 1, 2, 4


def sealed_memfd(name: str, size_bytes: int) -> int:
    """A memfd that nobody can resize: a worker that could shrink it would kill the judge with SIGBUS."""
    descriptor = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(descriptor, size_bytes)
    fcntl.fcntl(descriptor, _ADD_SEALS, _SEAL_SHRINK | _SEAL_GROW | _SEAL_SEAL)
    return descriptor
