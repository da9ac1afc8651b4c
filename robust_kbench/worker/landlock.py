"""Landlock: after this, the process and its children can change files in one folder only. Needs no privilege."""

import ctypes
import os
import struct

from robust_kbench.worker import kernel

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_FLAG = 1
_PATH_BENEATH = 1
_WRITE_FILE = 1 << 1
_REMOVE_AND_MAKE = sum(1 << bit for bit in range(4, 13))
_REFER = 1 << 13  # since version 2
_TRUNCATE = 1 << 14  # since version 3
_ALWAYS_WRITABLE = ("/dev/null",)


def version() -> int:
    """The version of the kernel's landlock interface. Raises OSError where there is none."""
    return kernel.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION_FLAG))


def is_available() -> bool:
    """Whether the kernel has landlock and it is switched on."""
    try:
        return version() > 0
    except OSError:
        return False


def allow_writes_only_in(folder: str, others: tuple[str, ...] = ()) -> None:
    """Restrict this process for good; `others` are further files or folders that stay writable, such as GPU nodes."""
    level = version()
    folder_rights = _WRITE_FILE | _REMOVE_AND_MAKE | (_REFER if level >= 2 else 0) | (_TRUNCATE if level >= 3 else 0)
    file_rights = _WRITE_FILE | (_TRUNCATE if level >= 3 else 0)
    attributes = ctypes.create_string_buffer(struct.pack("<Q", folder_rights), 8)
    ruleset = kernel.syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(8), ctypes.c_uint32(0))
    try:
        _allow(ruleset, folder, folder_rights)
        for path in (*_ALWAYS_WRITABLE, *others):
            if os.path.exists(path):
                _allow(ruleset, path, folder_rights if os.path.isdir(path) else file_rights)
        kernel.syscall(_RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint32(0))
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        rule = ctypes.create_string_buffer(struct.pack("<Qi", rights, descriptor), 12)
        kernel.syscall(_ADD_RULE, ctypes.c_int(ruleset), ctypes.c_int(_PATH_BENEATH), rule, ctypes.c_uint32(0))
    finally:
        os.close(descriptor)
