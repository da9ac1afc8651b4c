"""Push memory out of every cache line by line, by address.

Reading other memory instead takes longer than most kernels where the last-level cache is large, and a virtual machine
shows that of a whole socket, hundreds of megabytes; and a cache that prefers lines that were used twice keeps them.
"""

import ctypes
import mmap
import platform
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

Evict = Callable[[int, int], None]

# void evict(char *address, char *end): for each line of 64 bytes, flush it; then wait until all are written back.
# PREFIX makes of the instruction clflush, which waits for the one before it, clflushopt, which does not.
_PREFIX = bytes.fromhex("66")
_LOOP = (
    "4883e7c0"  # and rdi, -64
    "4839f7"  # cmp rdi, rsi
    "73{past:02x}"  # jae to the fence
    "{flush}"  # clflush or clflushopt [rdi]
    "4883c740"  # add rdi, 64
    "eb{back:02x}"  # jmp to the comparison
    "0faef0"  # mfence
    "c3"  # ret
)


@lru_cache(maxsize=1)
def evictor() -> Evict | None:
    """A function of an address and a size in bytes; None on processors and systems that have no such instruction."""
    flags = _processor_flags()
    if platform.machine() != "x86_64" or "clflush" not in flags:
        return None
    try:
        function = _executable(_machine_code(has_prefix="clflushopt" in flags))
    except OSError:  # a hardened system that lets nobody make code
        return None
    return lambda address, size: function(address, address + size)


def _machine_code(*, has_prefix: bool) -> bytes:
    flush = (_PREFIX if has_prefix else b"") + bytes.fromhex("0fae3f")
    body = len(flush) + 4 + 2  # from behind the first jump to behind the second
    return bytes.fromhex(_LOOP.format(flush=flush.hex(), past=body, back=0x100 - (body + 5)))


def _executable(code: bytes) -> Callable[[int, int], None]:
    page = mmap.mmap(-1, mmap.PAGESIZE)
    page.write(code)
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mprotect(ctypes.c_void_p(address), ctypes.c_size_t(mmap.PAGESIZE), mmap.PROT_READ | mmap.PROT_EXEC):
        raise OSError(ctypes.get_errno(), "mprotect")
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(address)
    function.page = page  # type: ignore[attr-defined]
    return function


def _processor_flags() -> set[str]:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return set()
    return next((set(line.partition(":")[2].split()) for line in lines if line.startswith("flags")), set())
