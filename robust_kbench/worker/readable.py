"""Paths that hostile code may read: system files, Python, compilers and our own published source.

Nothing of the user's is among them: no home directories, other submissions, stores of records, and nothing of the
running evaluation.
"""

import os
import shutil
import sys
from collections.abc import Iterable

_SYSTEM = (
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store", "/gnu/store",
    "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/localtime", "/etc/passwd",
    "/etc/group", "/etc/nsswitch.conf", "/etc/OpenCL", "/etc/nvidia",
    "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom",
    "/sys/devices/system", "/sys/kernel/mm/transparent_hugepage",
)  # fmt: skip
_PROC = (
    "self", "cpuinfo", "meminfo", "stat", "version", "filesystems", "loadavg", "driver", "devices", "modules",
    # What the C library and the driver look at. Of the others some make every core count its pages when they are read,
    # and one tells the process that was started last.
    "sys/vm/overcommit_memory", "sys/vm/max_map_count", "sys/vm/mmap_min_addr", "sys/kernel/osrelease",
    "sys/kernel/cap_last_cap", "sys/kernel/ngroups_max", "sys/kernel/pid_max", "sys/kernel/random/boot_id",
)  # fmt: skip
_GPU = ("/sys", "/run/nvidia-persistenced", "/run/nvidia-fabricmanager")
_TOOLS = ("g++", "gcc", "clang", "nvcc", "ncu", "compute-sanitizer", "addr2line")  # Triton compiles with gcc or clang,
_NAMED_TOOLS = ("CC", "CXX")  # or with what these variables name
_VARIABLES = ("LD_LIBRARY_PATH", "CUDA_HOME")


def paths(*, own_proc: bool, gpu: bool) -> list[str]:
    """List the files and folders that every sandboxed process may read; paths that do not exist do no harm.

    `own_proc`: /proc shows nothing but the sandbox's own processes. Elsewhere it shows those of the user.
    """
    system = [*_SYSTEM, *(["/proc"] if own_proc else [f"/proc/{name}" for name in _PROC]), *(_GPU if gpu else ())]
    named = [path for name in _VARIABLES for path in os.environ.get(name, "").split(os.pathsep)]
    installed = [path for path in (*_python(), *_toolchains(), *named) if path and not _is_too_much(path)]
    return list(dict.fromkeys([*system, *installed]))  # some service's home lies in /usr, which it needs all the same


def _python() -> Iterable[str]:
    """Yield the interpreter, packages installed beside it, and this package; not the checkout that holds it."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    yield package
    yield from (sys.prefix, sys.base_prefix, sys.exec_prefix)
    yield from (path for path in sys.path if not os.path.exists(os.path.join(path, "pyproject.toml")))


def _toolchains() -> Iterable[str]:
    """Yield the folders of compilers that are not part of the system, such as those of a conda environment."""
    for tool in (*_TOOLS, *(os.environ.get(name, "") for name in _NAMED_TOOLS)):
        if found := shutil.which(tool):  # a program, a link to one, or a script that calls one beside it
            yield from (os.path.dirname(os.path.dirname(path)) for path in (found, os.path.realpath(found)))


def _is_too_much(path: str) -> bool:
    """Tell if `path` is a home directory, or holds one."""
    home = os.path.realpath(os.path.expanduser(f"~{_user()}"))
    real = os.path.realpath(path)
    return os.path.commonpath([real, home]) == real


def _user() -> str:
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return ""
