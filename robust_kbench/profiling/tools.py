"""Programs of other vendors that a profile asks: their paths, and the remedies where they are missing."""

from __future__ import annotations

import importlib.util
import os
import shutil
from pathlib import Path

_REMEDIES = {
    "nvcc": "install the CUDA toolkit",
    "cuobjdump": "install the CUDA toolkit, or triton, which brings one",
    "nvdisasm": "install the CUDA toolkit, or triton, which brings one",
    "ncu": "install Nsight Compute (part of the CUDA toolkit)",
    "compute-sanitizer": "install the CUDA toolkit",
    "g++": "Debian: apt-get install g++",
    "c++filt": "Debian: apt-get install binutils",
}


def find(name: str) -> str | None:
    """Return the path of a program on the PATH, in the CUDA toolkit or in triton's package; None if it is missing."""
    if found := shutil.which(name):
        return found
    return shutil.which(name, path=os.pathsep.join(str(folder) for folder in _folders()))


def absence(name: str) -> str:
    """Return one line that names the missing program and the remedy."""
    return f"no {name} on the PATH; {_REMEDIES[name]}"


def _folders() -> list[Path]:
    folders = [Path(os.environ.get("CUDA_HOME") or "/usr/local/cuda") / "bin"]
    if (triton := importlib.util.find_spec("triton")) is not None and triton.origin:
        folders.append(Path(triton.origin).parent / "backends" / "nvidia" / "bin")
    return folders
