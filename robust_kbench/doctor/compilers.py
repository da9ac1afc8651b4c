"""Compilers, tried on a function of one line, in the sandbox that submissions are built in."""

from __future__ import annotations

import ctypes
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from robust_kbench.doctor.diagnosis import Diagnosis, output_of
from robust_kbench.errors import BuildError, HarnessError
from robust_kbench.languages import compiler

_GROUP = "compilers"
_ANSWER = 42
_SOURCE = f'extern "C" int answer() {{ return {_ANSWER}; }}\n'
_KERNEL = '__global__ void touch(int* x) { *x = 1; }\nextern "C" int answer() { return 42; }\n'
_TIMEOUT_S = 60


def inspect() -> Iterator[Diagnosis]:
    """Diagnose g++, which builds C++ kernels and the emulator's, and nvcc, which builds those for a CUDA device."""
    yield gxx()
    yield nvcc()


def gxx() -> Diagnosis:
    """Tell if g++ makes a shared object that this process can call."""
    remedy = "sudo apt-get install g++"
    if (found := shutil.which("g++")) is None:
        words = "not on the PATH: C++ kernels and emulated CUDA kernels cannot be built"
        return Diagnosis(_GROUP, "g++", "missing", words, remedy)
    return _try("g++", [found, "-shared", "-fPIC"], "kernel.cpp", _SOURCE, remedy)


def nvcc() -> Diagnosis:
    """Tell if nvcc makes a shared object that this process can call."""
    remedy = "install the CUDA toolkit and put its bin folder on the PATH"
    if (found := shutil.which("nvcc")) is None:
        words = "not on the PATH: CUDA kernels run emulated, never on a CUDA device"
        return Diagnosis(_GROUP, "nvcc", "missing", words, remedy)
    # Linked dynamically, the runtime would have to be found here, which only the worker's process needs.
    command = [found, "-shared", "-Xcompiler", "-fPIC", "-cudart", "static"]
    return _try("nvcc", command, "kernel.cu", _KERNEL, remedy)


def _try(name: str, command: Sequence[str], file: str, source: str, remedy: str) -> Diagnosis:
    with tempfile.TemporaryDirectory(prefix="kbench-doctor-") as text:
        folder = Path(text)
        (folder / file).write_text(source)
        target = folder / "kernel.so"
        try:
            compiler.run([*command, str(folder / file), "-o", str(target)], folder, timeout_s=_TIMEOUT_S)
            answer = ctypes.CDLL(str(target)).answer()
        except HarnessError as error:
            return Diagnosis(_GROUP, name, "missing", str(error)[:300], "see the sandbox's worker, above")
        except (BuildError, OSError, AttributeError) as error:
            return Diagnosis(_GROUP, name, "missing", f"does not build a function of one line: {error}"[:300], remedy)
    if answer != _ANSWER:
        return Diagnosis(_GROUP, name, "missing", f"a function that returns {_ANSWER} returned {answer}", remedy)
    return Diagnosis(_GROUP, name, "ok", _version(command[0]))


def _version(path: str) -> str:
    """Read the version: g++ says it in its first line, nvcc in the line with the word release."""
    lines = output_of([path, "--version"]).splitlines() or [path]
    return next((line for line in lines if "release" in line), lines[0])
