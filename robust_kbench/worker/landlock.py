"""Landlock: limits the files that a process and its children can read, run and change. Needs no privilege."""

import ctypes
import os
import stat
import struct
from collections.abc import Iterable

from robust_kbench.worker import kernel

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_FLAG = 1
_PATH_BENEATH = 1
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_FOLDER = (1 << bit for bit in range(4))
_REMOVE_AND_MAKE = sum(1 << bit for bit in range(4, 13))
_MAKE_DEVICE = 1 << 6 | 1 << 11  # of characters and of blocks, which nobody may
_REFER = 1 << 13  # since version 2
_TRUNCATE = 1 << 14  # since version 3
_ALWAYS_WRITABLE = ("/dev/null",)
_READ_ONE = _EXECUTE | _READ_FILE


def version() -> int:
    """Return the version of the kernel's landlock interface. Raises OSError where there is none."""
    return kernel.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION_FLAG))


def is_available() -> bool:
    """Tell if the kernel has landlock and it is switched on."""
    try:
        return version() > 0
    except OSError:
        return False


def restrict(folder: str, *, writable: Iterable[str] = (), readable: Iterable[str] = ()) -> None:
    """Restrict this process for good: to `folder`, to further files or folders, such as GPU nodes, and to `readable`.

    Everything that can be changed can be read, too. A path that does not exist is passed over. Open files stay open.
    """
    level = version()
    change_one = _WRITE_FILE | (_TRUNCATE if level >= 3 else 0)
    change = change_one | _REMOVE_AND_MAKE | (_REFER if level >= 2 else 0)
    read = _READ_ONE | _READ_FOLDER
    attributes = ctypes.create_string_buffer(struct.pack("<Q", change | read), 8)
    ruleset = kernel.syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(8), ctypes.c_uint32(0))
    try:
        for path in (folder, *_ALWAYS_WRITABLE, *writable):
            _allow(ruleset, path, of_folders=(change | read) & ~_MAKE_DEVICE, of_files=change_one | _READ_ONE)
        for path in readable:
            _allow(ruleset, path, of_folders=read, of_files=_READ_ONE)
        kernel.syscall(_RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint32(0))
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str, *, of_folders: int, of_files: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return
    try:
        rights = of_folders if stat.S_ISDIR(os.fstat(descriptor).st_mode) else of_files
        rule = ctypes.create_string_buffer(struct.pack("<Qi", rights, descriptor), 12)
        kernel.syscall(_ADD_RULE, ctypes.c_int(ruleset), ctypes.c_int(_PATH_BENEATH), rule, ctypes.c_uint32(0))
    finally:
        os.close(descriptor)
