"""Build a kernel of the suite with nvcc, and run it on a GPU."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sysconfig
from pathlib import Path

import torch
from description import Kernel
from module import call_torch, load_torch
from torch import Tensor

# What an output holds before the call: NaN in every floating-point type.
_FILL = 0xFF


def build(kernel: Kernel, folder: Path) -> Path:
    """Build the shared object. Raises CalledProcessError, with the compiler's words."""
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"{kernel.name.replace('/', '_')}.so"
    # With the runtime library shared with torch, so that both see the same errors.
    command = ["nvcc", "-shared", "-cudart", "shared", "-Xcompiler", "-fPIC", "-std=c++17", "-arch=native"]
    command += kernel.options
    command += [f"-I{include}" for include in _wheels("include")]
    if kernel.abi == "torch":
        command += _torch_options(target.stem)
    command += [
        str(kernel.source),
        "-o",
        str(target),
        *(option for name in kernel.libraries for option in _library(name)),
    ]
    subprocess.run(command, capture_output=True, text=True, check=True)
    return target


def _wheels(kind: str) -> list[Path]:
    """List folders of the CUDA libraries that came with torch: a toolkit alone may lack cuBLAS and cuRAND."""
    return sorted(Path(torch.__file__).parents[1].glob(f"nvidia/*/{kind}"))


def _library(name: str) -> list[str]:
    found = [file for folder in _wheels("lib") for file in sorted(folder.glob(f"lib{name}.so*"))]
    return ["-Xlinker", str(found[0])] if found else [f"-l{name}"]


def _torch_options(module: str) -> list[str]:
    from torch.utils import cpp_extension

    headers = [*cpp_extension.include_paths("cuda"), sysconfig.get_paths()["include"]]
    options = [f"-DTORCH_EXTENSION_NAME={module}", "-DTORCH_API_INCLUDE_EXTENSION_H"]
    options += [*cpp_extension.COMMON_NVCC_FLAGS, *(f"-isystem={folder}" for folder in headers)]
    options += [f"-L{folder}" for folder in cpp_extension.library_paths("cuda")]
    return [*options, "-lc10", "-lc10_cuda", "-ltorch_cpu", "-ltorch_cuda", "-ltorch", "-ltorch_python"]


def run(kernel: Kernel, artefact: Path, inputs: list[Tensor]) -> list[Tensor]:
    """Make one call on the current stream; return the outputs on the host. Raises RuntimeError with CUDA's error."""
    arguments = [tensor.cuda() for tensor in inputs]
    if kernel.abi == "torch":
        return [tensor.cpu() for tensor in call_torch(load_torch(artefact), arguments, kernel.scalars)]
    outputs = [_poisoned(output.shape, output.dtype) for output in kernel.outputs]
    pointers = [ctypes.c_void_p(tensor.data_ptr()) for tensor in (*arguments, *outputs)]
    scalars = [ctypes.c_int64(scalar) for scalar in kernel.scalars]
    torch.cuda.synchronize()
    library = ctypes.CDLL(str(artefact))
    library.run(*pointers, *scalars, ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))
    torch.cuda.synchronize()
    if error := _runtime().cudaGetLastError():
        raise RuntimeError(f"CUDA error {error}")
    return [output.cpu() for output in outputs]


def _runtime() -> ctypes.CDLL:
    major = (torch.version.cuda or "").partition(".")[0]
    return ctypes.CDLL(f"libcudart.so.{major}")


def _poisoned(shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
    tensor = torch.empty(shape, dtype=dtype, device="cuda")
    tensor.view(torch.uint8).fill_(_FILL)
    return tensor


def workers() -> int:
    """Return the number of builds that run side by side."""
    return os.cpu_count() or 1
