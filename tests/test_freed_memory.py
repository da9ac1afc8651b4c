"""Memory that a process frees serves its next work, see robust_kbench.freed_memory."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

_FAULTS_OF_TEN = """
import ctypes, mmap, resource
from robust_kbench import freed_memory
if {keeps}:
    freed_memory.keep()
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
libc.free.restype, libc.free.argtypes = None, [ctypes.c_void_p]
def use(size):
    block = libc.malloc(size)
    ctypes.memset(block, 1, size)
    libc.free(block)
use({size})
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    use({size})
print((resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) * mmap.PAGESIZE / {size})
"""


def _faulted(size: int, *, keeps: bool) -> float:
    """Count how many times over a block's pages are handed out while the block is used ten times."""
    command = [sys.executable, "-c", _FAULTS_OF_TEN.format(size=size, keeps=keeps)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="keeping freed memory is glibc's")
@pytest.mark.parametrize("size", [40 << 20, 400 << 20], ids=["40 MiB", "400 MiB"])
def test_what_was_freed_is_not_handed_out_anew(size: int) -> None:
    assert _faulted(size, keeps=True) < 0.1
    assert _faulted(size, keeps=False) > 1  # where pages are huge ones, fewer than ten
