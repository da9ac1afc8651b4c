"""Private root for a process tree: readable paths, read-only, changeable paths, and nothing else.

It takes landlock's place on a kernel without it. It needs a user namespace, and the process to be alone in it.
Everything is bound from the former root, which is then taken away.
"""

import contextlib
import errno
import os
import secrets
from collections.abc import Iterable

from robust_kbench.worker import kernel

_OF_BASE = kernel.MS_NOSUID | kernel.MS_NODEV
_KEPT = {  # a mount in a user namespace may lose none of these
    os.ST_NOSUID: kernel.MS_NOSUID,
    os.ST_NODEV: kernel.MS_NODEV,
    os.ST_NOEXEC: kernel.MS_NOEXEC,
    os.ST_NOATIME: kernel.MS_NOATIME,
    os.ST_NODIRATIME: kernel.MS_NODIRATIME,
    os.ST_RELATIME: kernel.MS_RELATIME,
}


_OF_THE_MACHINE = ("sys", "sysrq-trigger", "irq", "bus", "fs")
"""Parts of /proc that are no processes, and that a process with root's number may write, even without capabilities."""


def enter(folder: str, *, writable: Iterable[str] = (), readable: Iterable[str] = ()) -> None:
    """Change the root of this process; `folder` can be changed, too. Raises OSError where that is forbidden.

    After an error the root is the former one, unless the parts of /proc that belong to the machine could not be made
    read-only. Without an error `folder` is the working directory. A path that does not exist is passed over.
    """
    if kernel.MACHINE not in kernel.PIVOT_ROOT:
        raise OSError(errno.ENOSYS, f"no pivot_root for {kernel.MACHINE}")
    # By a name that nobody foretells: something else of that name would keep this process from being confined.
    where, base = os.getcwd(), os.path.join(folder, f".root-{secrets.token_hex(16)}")
    access = dict.fromkeys(readable, False) | dict.fromkeys((folder, *writable), True) | {"/proc": True}
    kernel.unshare(kernel.CLONE_NEWNS)
    kernel.mount("none", "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
    os.mkdir(base)
    kernel.mount("tmpfs", base, "tmpfs", _OF_BASE, "size=1m")
    try:
        for path in sorted(access):  # what lies within comes after what it lies in
            if path == "/proc" or not path.startswith("/proc/"):
                _show(base, path, is_writable=access[path], is_recursive=path != folder)
        with contextlib.suppress(OSError):  # small enough to do no harm if it stays writable
            kernel.mount("none", base, None, kernel.MS_BIND | kernel.MS_REMOUNT | kernel.MS_RDONLY | _OF_BASE)
        os.chdir(base)
        kernel.pivot_root(".", ".")
    except OSError:
        os.chdir(where)
        kernel.unmount(base)
        raise
    kernel.unmount(".")  # the former root lies on top of the new one
    with contextlib.suppress(OSError):  # its own processes alone, where that is allowed
        kernel.mount("proc", "/proc", "proc", kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC)
    os.chdir(folder)
    with contextlib.suppress(OSError):
        os.rmdir(base)
    for name in _OF_THE_MACHINE:
        _protect(f"/proc/{name}")


def _show(base: str, path: str, *, is_writable: bool, is_recursive: bool) -> None:
    """Have `path` below `base` lead to its present target, with or without the mounts within it."""
    real = os.path.realpath(path)
    if not os.path.exists(real):
        return
    place = base + real
    _make_place(place, is_folder=os.path.isdir(real))
    kernel.mount(real, place, None, kernel.MS_BIND | (kernel.MS_REC if is_recursive else 0))
    if not is_writable:
        _make_read_only(place)
    if real != path and not os.path.lexists(base + path):
        os.makedirs(os.path.dirname(base + path), exist_ok=True)
        os.symlink(real, base + path)


def _protect(path: str) -> None:
    """Make `path` read-only where it is, if it is there and not read-only already."""
    if os.path.exists(path) and not os.statvfs(path).f_flag & os.ST_RDONLY:
        kernel.mount(path, path, None, kernel.MS_BIND | kernel.MS_REC)
        _make_read_only(path)


def _make_read_only(place: str) -> None:
    """Make the mount at `place` read-only, without the mounts within it."""
    flags = os.statvfs(place).f_flag
    kept = sum(flag_of_mount for flag, flag_of_mount in _KEPT.items() if flags & flag)
    kernel.mount("none", place, None, kernel.MS_BIND | kernel.MS_REMOUNT | kernel.MS_RDONLY | kept)


def _make_place(place: str, *, is_folder: bool) -> None:
    """Make a folder or an empty file to bind to. Inside a bound folder it exists already."""
    if os.path.exists(place):
        return
    os.makedirs(place if is_folder else os.path.dirname(place), exist_ok=True)
    if not is_folder:
        os.close(os.open(place, os.O_CREAT | os.O_WRONLY, 0o600))
