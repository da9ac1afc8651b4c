"""CUDA files of `collectives/` under test: rewritten, compiled plain and checked, and called on arrays of numpy."""

from __future__ import annotations

import ctypes
import functools
import json
import subprocess
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from robust_kbench.emulator import toolchain
from robust_kbench.emulator.rewrite import rewrite

Array = npt.NDArray[Any]
FOLDER = Path(__file__).parent / "collectives"
SCHEDULES = FORWARD, REVERSE, SHUFFLED = range(3)
_POISON = 0x7FA5A5A5
_CPU_SECONDS = 60


@functools.cache
def _library() -> Path:
    return toolchain.runtime_library()


def compile_source(text: str, folder: Path, *, checked: bool) -> Path:
    """The shared object of a CUDA source. Raises CalledProcessError, with the compiler's words, if there is none."""
    source, target = folder / "kernel.cu", folder / f"kernel{checked:d}.so"
    source.write_text(rewrite(text, "kernel.cu").text)
    for command in toolchain.commands(source, target, _library(), checked=checked):
        subprocess.run(command, capture_output=True, text=True, check=True)
    return target


class Program:
    """The `extern "C"` functions of one file, in one of its two builds."""

    def __init__(self, name: str, folder: Path, *, checked: bool) -> None:
        self.checked = checked
        text = (FOLDER / f"{name}.cu").read_text()
        self._lines = text.splitlines()
        self._runtime = ctypes.CDLL(str(_library()))
        self._runtime.kbemu_end.restype = ctypes.c_char_p
        self._functions = ctypes.CDLL(str(compile_source(text, folder, checked=checked)))

    def __call__(
        self, name: str, *arrays: Array, schedule: int = FORWARD, written: Collection[int] = ()
    ) -> list[dict[str, Any]]:
        """Call a function on arrays, which it sees as tensors of device memory; return what was found.

        `written` holds the places of the arrays that have no values before the call.
        """
        seed, work_limit = ctypes.c_uint64(7), ctypes.c_uint64(0)
        self._runtime.kbemu_begin(schedule, seed, _POISON, self.checked, 2, work_limit, _CPU_SECONDS)
        for i, array in enumerate(arrays):
            pointer, size = ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes)
            self._runtime.kbemu_tensor(f"a{i}".encode(), pointer, size, i not in written)
        getattr(self._functions, name)(*(ctypes.c_void_p(array.ctypes.data) for array in arrays))
        found: list[dict[str, Any]] = json.loads(self._runtime.kbemu_end())
        return found

    def line(self, mark: str) -> int:
        """The number of the one line that ends with the comment `// mark`."""
        (number,) = (i for i, line in enumerate(self._lines, 1) if line.endswith(f"// {mark}"))
        return number


def zeros(count: int, dtype: npt.DTypeLike) -> Array:
    return np.zeros(count, dtype=dtype)
