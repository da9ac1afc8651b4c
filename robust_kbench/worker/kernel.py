"""The Linux calls that Python 3.11 does not wrap: prctl, unshare, capset, landlock, seccomp, by number."""

import ctypes
import os
import platform
import signal

_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.malloc.restype = _LIBC.mmap.restype = ctypes.c_void_p

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_SECCOMP = 22
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38

CLONE_NEWNS = 0x00020000
CLONE_NEWCGROUP = 0x02000000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000
CLONE_THREAD = 0x00010000

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = (1 << bit for bit in range(4))
MS_REMOUNT = 1 << 5
MS_NOATIME, MS_NODIRATIME = 1 << 10, 1 << 11
MS_BIND = 1 << 12
MS_REC = 1 << 14
MS_PRIVATE = 1 << 18
MS_RELATIME = 1 << 21
_MNT_DETACH = 2
PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}

MADV_POPULATE_WRITE = 23
_READ_AND_WRITE, _MAP_SHARED, _MAP_FIXED, _MAP_POPULATE = 0x3, 0x1, 0x10, 0x8000
_MAP_FAILED = 2 ** (8 * ctypes.sizeof(ctypes.c_void_p)) - 1
_PAGE_BYTES = 4096

MACHINE = platform.machine()


def _check(result: int, what: str) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")
    return result


def prctl(option: int, argument: int = 0, pointer: object = None) -> None:
    """Raises OSError when the kernel refuses."""
    _check(_LIBC.prctl(option, ctypes.c_ulong(argument), pointer, 0, 0), f"prctl({option})")


def unshare(flags: int) -> None:
    """Enter new namespaces. Raises OSError where the kernel or the container forbids it."""
    _check(_LIBC.unshare(flags), f"unshare({flags:#x})")


def syscall(number: int, *arguments: object) -> int:
    """Call the kernel by number. Raises OSError on failure."""
    return _check(_LIBC.syscall(ctypes.c_long(number), *arguments), f"syscall({number})")


def die_with_parent(parent: int) -> None:
    """Have the kernel kill this process when `parent`, the one that forked it, is gone; die now if it already is.

    The setting follows the thread that forked us, and a change of credentials (entering a user namespace) clears it.
    """
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() not in (parent, 0):  # 0: the parent lives outside our pid namespace
        os._exit(1)


def map_shared(descriptor: int, size_bytes: int) -> int:
    """Map a file for reading and writing, and return the address; no descriptor of ours stays open for it.

    Python's mmap keeps one, through which a kernel could map the same pages elsewhere. Pages neither fault nor have to
    be marked as written later: the processor would stop for 0.2 us at the first write to each, which only kernels that
    write to the judge's slots would pay for. Raises OSError.
    """
    address = _LIBC.mmap(None, ctypes.c_size_t(size_bytes), _READ_AND_WRITE, _MAP_SHARED, descriptor, ctypes.c_long(0))
    if address in (None, _MAP_FAILED):
        _check(-1, "mmap")
    if _LIBC.madvise(ctypes.c_void_p(address), ctypes.c_size_t(size_bytes), MADV_POPULATE_WRITE):
        populated = _READ_AND_WRITE, _MAP_SHARED | _MAP_POPULATE | _MAP_FIXED  # Linux before 5.14: pages stay clean
        _LIBC.mmap(ctypes.c_void_p(address), ctypes.c_size_t(size_bytes), *populated, descriptor, ctypes.c_long(0))
    return int(address)


def populate_heap(size_bytes: int) -> None:
    """Have the pages of so many bytes of the heap in place, all at once: faults take twice as long.

    Raises OSError before Linux 5.14, and MemoryError where there is no room.
    """
    address = _LIBC.malloc(ctypes.c_size_t(size_bytes))
    if not address:
        raise MemoryError
    try:
        first = -(-address // _PAGE_BYTES) * _PAGE_BYTES
        whole = (address + size_bytes - first) // _PAGE_BYTES * _PAGE_BYTES
        advised = _LIBC.madvise(ctypes.c_void_p(first), ctypes.c_size_t(whole), MADV_POPULATE_WRITE)
        _check(advised, "madvise(MADV_POPULATE_WRITE)")
    finally:
        _LIBC.free(ctypes.c_void_p(address))


def drop_capabilities() -> None:
    """Give up every capability, also inside a user namespace that we own."""
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    data = (ctypes.c_uint32 * 6)()
    _check(_LIBC.capset(header, data), "capset")


def pivot_root(new: str, old: str) -> None:
    """Make `new` the root of this mount namespace, and show the former one at `old`. Raises OSError."""
    syscall(PIVOT_ROOT[MACHINE], ctypes.c_char_p(new.encode()), ctypes.c_char_p(old.encode()))


def unmount(target: str) -> None:
    """Take away what is mounted at `target`, as soon as nobody uses it. Raises OSError."""
    _check(_LIBC.umount2(target.encode(), _MNT_DETACH), f"umount({target})")


def mount(source: str, target: str, kind: str | None, flags: int, options: str | None = None) -> None:
    """Raises OSError where the kernel or the container forbids it."""
    name, data = (text.encode() if text else None for text in (kind, options))
    _check(_LIBC.mount(source.encode(), target.encode(), name, ctypes.c_ulong(flags), data), f"mount({target})")
