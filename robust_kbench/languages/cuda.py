"""CUDA C++: compiled by nvcc; executed on the cuda device."""

from __future__ import annotations

import shutil
from pathlib import Path

from robust_kbench.errors import Unsupported
from robust_kbench.languages import compiler, cpp
from robust_kbench.languages.built import Built, write_sources
from robust_kbench.schema.submission import Submission
from robust_kbench.schema.task import DeviceKind, FloatDType, Task

_TIMEOUT_S = 120
_TORCH_TIMEOUT_S = 300
_MEMORY_BYTES = 8 << 30
_NEEDS_DEVICE = (
    "CUDA kernels cannot run on the cpu device; use --device cuda on a machine with a GPU (the source compiles)"
)
_NEEDS_COMPILER = "CUDA kernels cannot be built on this machine: no nvcc on the PATH; install the CUDA toolkit"


def build(submission: Submission, task: Task, dtype: FloatDType, device: DeviceKind, folder: Path) -> Built:
    """Compile to a shared object with the runtime linked in. Raises BuildError and Unsupported."""
    if (nvcc := shutil.which("nvcc")) is None:
        raise Unsupported(_NEEDS_COMPILER)
    entry = write_sources(submission, folder)
    target = folder / f"kernel_{dtype}.so"
    command = [nvcc, "-shared", "-Xcompiler", "-fPIC", "-std=c++17", f"-I{cpp.INCLUDE}", *_architecture(device)]
    command += submission.file.build or ["-O3"]
    if submission.abi == "torch":
        if device == "cpu":  # a minute of compiling that nothing could run
            raise Unsupported(
                "CUDA kernels of abi torch cannot run on the cpu device; use --device cuda on a machine with a GPU"
            )
        command += [*cpp.torch_options(target.stem), str(entry), "-o", str(target), *cpp.torch_libraries()]
        log = compiler.run(command, folder, timeout_s=_TORCH_TIMEOUT_S, memory_bytes=_MEMORY_BYTES)
    else:
        command += [*cpp.c_options(submission, task, dtype, folder), str(entry), "-o", str(target)]
        command += ["-Xlinker", f"--require-defined={submission.symbol}"]
        log = compiler.run(command, folder, timeout_s=_TIMEOUT_S, memory_bytes=_MEMORY_BYTES)
    if device == "cpu":
        raise Unsupported(_NEEDS_DEVICE)
    return Built(target, submission.symbol, submission.abi, log=log)


def _architecture(device: DeviceKind) -> list[str]:
    return ["-arch=native"] if device == "cuda" else ["-gencode", "arch=compute_80,code=sm_80"]
