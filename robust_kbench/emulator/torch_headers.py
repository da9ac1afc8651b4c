"""Compilation of kernels that include torch's headers: quick where they use little of torch, else with all of it.

torch/extension.h takes 17 s to compile, of which pybind11 takes three in every kernel; as a precompiled header it
takes half as long and 800 MB on disk. Our own include/torch/extension.h declares tensors, their methods and
AT_DISPATCH, takes two seconds and nothing on disk. It leaves to others:

- free functions (at::conv2d): one small header each, included when the source names the function;
- functions as Python calls them: our own PYBIND11_MODULE over a small library, built once per version of torch;
- the rest of torch and of pybind11: `whole=True` compiles with torch's own headers.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.metadata
import importlib.util
import os
import re
import subprocess
import sysconfig
from functools import cache
from pathlib import Path

from robust_kbench.emulator import toolchain
from robust_kbench.errors import HarnessError, Unsupported

SOURCES = toolchain.HOME / "torch_library"
LIBRARY = "libkbemu_torch.so"
_NAMESPACES = ("torch", "at", "c10", "pybind11", "py")

# A call of a function that is not a member: `at::relu(`, `relu(`.
_CALL = re.compile(r"(?<![\w.>])(?:(?:torch|at)\s*::\s*)?([a-z_]\w*)\s*\(")
# What our header lacks, told by name.
_WHOLE = re.compile(
    r"\btorch\s*::\s*(?:autograd|data|fft|jit|linalg|nested|nn|optim|python|save|load|serialize|sparse|special)\b"
    r"|\b(?:py|pybind11)\s*::\s*(?:args|buffer|bytes|class_|dict|enum_|function|handle|kwargs|set|str)\b"
)
_ON_DEMAND = {
    "indexing": "ATen/TensorIndexing.h",
    "TORCH_LIBRARY": "torch/library.h",
    "TORCH_LIBRARY_IMPL": "torch/library.h",
    "TORCH_LIBRARY_FRAGMENT": "torch/library.h",
}
_CONTEXT = re.compile(r"\bglobalContext\b|\bTORCH_LIBRARY|\bat\s*::\s*(?:Context|TensorArg|checkAllSame)|\bindexing\b")
_MISSING = re.compile(
    rf"[‘'](?:const )?(?:::)?(?:{'|'.join(_NAMESPACES)}|kbemu::python)\b"
    rf"|is not a member of [‘'](?:{'|'.join(_NAMESPACES)})"
    r"|(?:torch|ATen|c10|pybind11)/[\w/.]+: No such file|incomplete type|\bhas no member named\b"
)


@cache
def torch_folder() -> Path:
    """Return the folder of the installed torch, without importing it. Raises Unsupported where torch is missing."""
    spec = importlib.util.find_spec("torch")
    if spec is None or not spec.submodule_search_locations:
        raise Unsupported("no torch here, which the kernel's source includes; install it to emulate the kernel")
    return Path(spec.submodule_search_locations[0])


def needs_torch(source: str) -> bool:
    """Tell if the source includes a header of torch or pybind11."""
    return re.search(r'#\s*include\s*[<"](?:torch|ATen|c10|pybind11)/', source) is not None


def needs_whole(source: str) -> bool:
    """Tell if the source names something that only torch's own headers have."""
    return _WHOLE.search(source) is not None


def may_need_whole(log: str) -> bool:
    """Tell if a compiler's errors look as if our header were at fault: then compile again with torch's own."""
    return _MISSING.search(log) is not None


def compile_options(source: str, name: str, *, whole: bool = False) -> list[str]:
    """Return the compiler's options for a source; `name` is the name of the Python module."""
    includes = torch_folder() / "include"
    folders = [includes, includes / "torch" / "csrc" / "api" / "include", Path(sysconfig.get_paths()["include"])]
    options = [*(f"-isystem{folder}" for folder in folders), f"-DTORCH_EXTENSION_NAME={name}"]
    if whole:
        return [*options, "-DKBEMU_TORCH_FULL", "-DTORCH_API_INCLUDE_EXTENSION_H", "-include", "torch/extension.h"]
    if _CONTEXT.search(source):
        options.append("-DKBEMU_TORCH_CONTEXT")
    headers = ["torch/extension.h", *_headers_on_demand(source)]
    return [*options, *(option for header in headers for option in ("-include", header))]


def _headers_on_demand(source: str) -> list[str]:
    extra = {header for word, header in _ON_DEMAND.items() if re.search(rf"\b{word}\b", source)}
    return [*(f"ATen/ops/{name}.h" for name in called_operators(source)), *sorted(extra)]


def called_operators(source: str) -> list[str]:
    """Return the functions that the source calls and that have a header ATen/ops/NAME.h in the installed torch."""
    operators = _operators()  # looked up one by one, lest all names of a hostile source be held
    return sorted({call[1] for call in _CALL.finditer(source) if call[1] in operators})


@cache
def _operators() -> frozenset[str]:
    """Return the functions that have a header of their own."""
    folder = torch_folder() / "include" / "ATen" / "ops"
    names = {entry.name.removesuffix(".h") for entry in os.scandir(folder)}
    return frozenset(
        name
        for name in names
        if re.fullmatch("[a-z_0-9]+", name) and (f"{name}_ops" in names or name in ("from_blob", "tensor"))
    )


def link_options(library: Path) -> list[str]:
    """Return the linker's options. Torch's own libraries come with ours."""
    return ["-Wl,--no-as-needed", str(library), f"-Wl,-rpath,{library.parent}"]


def library(cache_folder: Path, runtime: Path) -> Path:
    """Build the library that kernels link to besides `runtime` (libkbemu.so), unless it is there already.

    Safe among concurrent processes. Raises Unsupported without torch or a compiler, HarnessError when our own source
    does not compile.
    """
    folder = cache_folder / f"torch-{_digest(runtime)}"
    target = folder / LIBRARY
    if target.exists():
        return target
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            _build(target, runtime)
    return target


def _build(target: Path, runtime: Path) -> None:
    unfinished = target.with_suffix(".unfinished")
    libraries = torch_folder() / "lib"
    command = [
        toolchain.compiler(), "-std=gnu++20", "-fPIC", "-O1", "-w", "-shared", "-DKBEMU_TORCH_LIBRARY",
        f"-I{toolchain.INCLUDE}", *compile_options("", "kbemu_torch", whole=True)[:-2],
        *(str(path) for path in sorted(SOURCES.glob("*.cpp"))), "-o", str(unfinished), str(runtime),
        f"-L{libraries}", "-Wl,--no-as-needed", "-lc10", "-ltorch_cpu", "-ltorch_python",
        f"-Wl,-rpath,{libraries}", f"-Wl,-rpath,{runtime.parent}",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise HarnessError(f"the emulator's library for torch does not compile: {done.stderr[:2000]}")
    unfinished.rename(target)


def _digest(runtime: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted([*SOURCES.iterdir(), *(toolchain.INCLUDE / "kbemu" / "python").iterdir()]):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    versions = [importlib.metadata.version("torch"), str(torch_folder()), sysconfig.get_python_version(), str(runtime)]
    digest.update("\n".join(versions).encode())
    return digest.hexdigest()[:16]
