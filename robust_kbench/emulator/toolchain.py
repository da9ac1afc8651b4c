"""Compilation of rewritten source to a shared object: the compiler's options, and files built once per machine.

    library = toolchain.runtime_library()
    for command in toolchain.commands(Path("rewritten/kernel.cu"), Path("kernel.so"), library, checked=True):
        subprocess.run(command, check=True)

`robust_kbench.worker.emulated.Emulator("kernel.so")` then drives a call: `begin(settings, memory)`, the kernel through
ctypes, `end()`, whose findings `robust_kbench.emulator.report.resolve` gives file and line.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path

from robust_kbench.errors import HarnessError, Unsupported

HOME = Path(__file__).parent
INCLUDE = HOME / "include"
RUNTIME = HOME / "runtime"
LIBRARY = "libkbemu.so"
_PRELUDE = '#include "kbemu/cuda.h"\n'

# Kernels look at one memory as float, half and int by turns, as CUDA lets them.
# Two builds of a kernel in one process must not share the variables of its templates.
_COMMON = (
    "-std=gnu++20", "-fPIC", "-g1", "-w", "-fno-strict-aliasing", "-fno-gnu-unique", "-ffp-contract=fast",
    "-march=native",
)  # fmt: skip
# What is undefined in C++ and not visible in the result; the handlers are ours, so that nothing else is linked.
_UNDEFINED = "-fsanitize=shift-exponent,float-cast-overflow,integer-divide-by-zero"
_PLAIN = ("-O2", _UNDEFINED)
# Accesses must stay as the source has them: no merging of neighbouring stores, no vectors made of scalars.
_CHECKED = (
    "-O1", _UNDEFINED + ",alignment", "-fsanitize=thread", "--param=tsan-distinguish-volatile=1",
    "--param=tsan-instrument-func-entry-exit=0", "-fno-tree-vectorize", "-fno-tree-slp-vectorize", "-fno-store-merging",
)  # fmt: skip


def compiler() -> str:
    """Return the path of the C++ compiler. Raises Unsupported where there is none."""
    if (found := shutil.which("g++")) is None:
        raise Unsupported("no g++ on the PATH; install it (Debian: apt-get install g++) to emulate CUDA kernels")
    return found


def cache_folder() -> Path:
    """Return the folder for files that are built once per machine."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "robust-kbench" / "emulator"


def runtime_library() -> Path:
    """Build libkbemu.so unless it is there already; safe among concurrent processes.

    Raises Unsupported without a compiler, HarnessError when our own source does not compile.
    """

    def command(target: Path) -> list[str]:
        sources = [str(path) for path in sorted(RUNTIME.glob("*.cpp"))]
        return [compiler(), *_COMMON, "-O2", "-shared", f"-I{INCLUDE}", *sources, "-o", str(target), "-pthread"]

    made_of = [*RUNTIME.iterdir(), INCLUDE / "kbemu" / "runtime.h", INCLUDE / "kbemu" / "dimensions.h"]
    return _built_once(cache_folder() / _digest(made_of) / LIBRARY, command)


def _precompiled_prelude(*, checked: bool) -> Path:
    """Return a header beside its precompiled form, 44 MB: parsing takes longer than the rest of a compilation.

    A compiler whose flags differ from those of the precompiled form reads the header itself. No source includes a
    header of this name. Such an include would be looked for here, to no use: a precompiled header has to come first.
    """

    def command(target: Path) -> list[str]:
        header.write_text(_PRELUDE)
        options = ["-x", "c++-header", str(header), "-o", str(target)]
        return [compiler(), *_COMMON, *_mode(checked=checked), f"-I{INCLUDE}", *options]

    headers = [path for path in INCLUDE.rglob("*") if path.is_file()]
    header = cache_folder() / _digest(headers, _PRELUDE, *_COMMON, *_mode(checked=checked)) / "kbemu_prelude.h"
    _built_once(header.with_suffix(".h.gch"), command)
    return header


def _built_once(target: Path, command: Callable[[Path], Sequence[str]]) -> Path:
    """Return `target` after the command for it has made it, unless it is there already."""
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with open(target.parent / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            unfinished = target.with_suffix(".unfinished")
            done = subprocess.run(command(unfinished), capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise HarnessError(f"the emulator's own source does not compile: {done.stderr[:2000]}")
            unfinished.rename(target)
    return target


def _digest(files: Iterable[Path], *flags: str) -> str:
    digest = hashlib.sha256("\0".join(flags).encode())
    for path in sorted(files):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    digest.update(_compiler_and_processor(compiler()))
    return digest.hexdigest()[:16]


@cache
def _compiler_and_processor(found: str) -> bytes:
    """Return the compiler's version and its target: `-march=native` differs among machines that share a home."""
    version = subprocess.run([found, "-dumpfullversion", "-dumpmachine"], capture_output=True, check=False)
    target = subprocess.run([found, "-march=native", "-Q", "--help=target"], capture_output=True, check=False)
    return version.stdout + target.stdout


def _mode(*, checked: bool) -> tuple[str, ...]:
    return _CHECKED if checked else _PLAIN


def commands(
    source: Path,
    target: Path,
    library: Path,
    *,
    checked: bool,
    options: Sequence[str] = (),
    libraries: Sequence[str] = (),
) -> list[list[str]]:
    """Return the commands that compile and link one rewritten source file to a shared object.

    They are two because a linker that is told of sanitizers would link the compiler's own runtime for them. `options`
    are for the compiler, `libraries` for the linker. The first call on a machine takes three seconds more.
    """
    unlinked = target.with_suffix(".o")
    prelude = [f"-I{INCLUDE}", "-include", str(_precompiled_prelude(checked=checked)), *options]
    return [
        [compiler(), "-c", *_COMMON, *_mode(checked=checked), *prelude, "-x", "c++", str(source), "-o", str(unlinked)],
        [
            compiler(), "-shared", str(unlinked), "-o", str(target), str(library), *libraries,
            f"-Wl,-rpath,{library.parent}",
        ],
    ]  # fmt: skip
