"""CUDA files of `host/` under test: numbers from their `extern "C"` functions, and the emulator's findings."""

from __future__ import annotations

import ctypes
import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from cuda_program import compile_source

from robust_kbench.emulator import toolchain

FOLDER = Path(__file__).parent / "host"
_POISON = 0x7FA5A5A5


class HostProgram:
    """The functions of one file, built plain."""

    def __init__(self, name: str, folder: Path) -> None:
        text = (FOLDER / f"{name}.cu").read_text()
        self._lines = text.splitlines()
        self._runtime = ctypes.CDLL(str(toolchain.runtime_library()))
        self._runtime.kbemu_end.restype = ctypes.c_char_p
        self._functions = ctypes.CDLL(str(compile_source(text, folder, checked=False)))
        self.findings: list[dict[str, Any]] = []

    def __call__(self, name: str, *arguments: Any, returns: Any = ctypes.c_int) -> Any:
        """Call a function with integers and arrays. The arrays' memory is not the device's."""
        self._runtime.kbemu_begin(0, ctypes.c_uint64(7), ctypes.c_uint32(_POISON), 0, 2, ctypes.c_uint64(0), 60)
        function = getattr(self._functions, name)
        function.restype = returns
        result = function(*(_pointer(a) if isinstance(a, np.ndarray) else a for a in arguments))
        self.findings = json.loads(self._runtime.kbemu_end())
        return result

    def kinds(self) -> list[str]:
        """List the kinds of the findings of the last call."""
        return [finding["kind"] for finding in self.findings]

    def lines(self) -> list[int]:
        """List the lines of the findings of the last call."""
        return [finding["place"]["line"] for finding in self.findings]

    def line(self, mark: str) -> int:
        """Return the number of the one line that ends with the comment `// mark`."""
        (number,) = (i for i, line in enumerate(self._lines, 1) if line.endswith(f"// {mark}"))
        return number


def _pointer(array: npt.NDArray[Any]) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)
