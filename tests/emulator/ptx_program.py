"""asm statements under test: translated, compiled into one shared object, and run by warps on arrays of numpy."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from robust_kbench.emulator import toolchain
from robust_kbench.emulator.assembly import translate

Array: TypeAlias = npt.NDArray[np.generic]
C_TYPES = {
    "u8": "uint8_t", "u16": "uint16_t", "u32": "uint32_t", "u64": "uint64_t", "s16": "int16_t", "s32": "int32_t",
    "s64": "int64_t", "f32": "float", "f64": "double",
}  # fmt: skip
NUMPY_TYPES = {name: np.dtype(f"{name.replace('s', 'i')[0]}{int(name[1:]) // 8}") for name in C_TYPES}


@dataclass(frozen=True)
class Operand:
    """`constraint:type`, an array of which thread i gets element i; `constraint:type*count`, of which it gets `count`.

    Without a constraint it is an array for the C++ around the statement; `constraint=expression` is no array.
    """

    text: str

    @property
    def is_array(self) -> bool:
        return ":" in self.text

    @property
    def type(self) -> str:
        return self.text.partition(":")[2].partition("*")[0]

    @property
    def count(self) -> int:
        return int(self.text.partition("*")[2] or 1) if self.is_array else 1

    def asm(self, array: str, prefix: str = "") -> list[tuple[str, str]]:
        """List pairs of a constraint and an expression."""
        if not self.is_array:
            constraint, _, expression = self.text.partition("=")
            return [(prefix + constraint, expression)]
        constraint = self.text.partition(":")[0]
        if not constraint:
            return []
        return [(prefix + constraint, f"{array}[{self.count} * i + {j}]") for j in range(self.count)]


@dataclass(frozen=True)
class Snippet:
    """An asm statement between statements in C++, which may use `SHARED(type, name, count)`."""

    template: str
    outputs: tuple[str, ...]
    inputs: tuple[str, ...]
    before: str = ""
    after: str = ""

    def arrays(self) -> tuple[list[Operand], list[Operand]]:
        """List the outputs and the inputs that are arrays."""
        outputs, inputs = [Operand(text) for text in self.outputs], [Operand(text) for text in self.inputs]
        return [o for o in outputs if o.is_array], [o for o in inputs if o.is_array]

    def operands(self) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
        """List the outputs and the inputs of the asm statement."""
        outputs = [pair for i, text in enumerate(self.outputs) for pair in Operand(text).asm(f"out{i}", "=")]
        inputs = [pair for i, text in enumerate(self.inputs) for pair in Operand(text).asm(f"in{i}")]
        return outputs, inputs

    def body(self, name: str) -> str:
        """Return the kernel's statements."""
        return f"{self.before} {translate(self.template, *self.operands(), name, 1)}; {self.after}"

    def parameters(self) -> list[tuple[str, str]]:
        """List the C++ type and the name of each array."""
        both = (("const ", "in", self.inputs), ("", "out", self.outputs))
        return [
            (f"{qualifier}{C_TYPES[operand.type]}*", f"{prefix}{i}")
            for qualifier, prefix, texts in both
            for i, operand in enumerate(map(Operand, texts))
            if operand.is_array
        ]


_SHARED = "#define SHARED(T, name, n) auto& name = ::kbemu::shared<T[n], struct name##_tag>(#name)"


def source_of(snippets: Mapping[str, Snippet]) -> str:
    """Return C++ with one kernel and one launching function `run_<name>` for each snippet."""
    lines = ['#include "kbemu/ptx.h"', _SHARED]
    for name, snippet in snippets.items():
        parameters = ", ".join(f"{kind} {array}" for kind, array in snippet.parameters())
        arrays = ", ".join(array for _, array in snippet.parameters())
        lines += [
            f"static void kernel_{name}({parameters}) {{",
            "    const long i = 32l * blockIdx.x + threadIdx.x;",
            f"    {snippet.body(name)}",
            "}",
            f'extern "C" int run_{name}({parameters}, long warps) {{',
            "    const ::kbemu::Config config(warps, 32);",
            f'    return ::kbemu::launch("{name}", config, [&](auto... p) {{ kernel_{name}(p...); }}, {arrays});',
            "}",
        ]
    return "\n".join(lines) + "\n"


def build(source: str, folder: Path) -> ctypes.CDLL:
    """Build the shared object of a rewritten source; hundreds of kernels are not worth the optimiser's time."""
    path, target = folder / "program.cu", folder / "program.so"
    path.write_text(source)
    for command in toolchain.commands(path, target, toolchain.runtime_library(), checked=False, options=["-O0"]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[:4000]
    return ctypes.CDLL(str(target))


class Program:
    """Snippets that are built and ready to run."""

    def __init__(self, snippets: Mapping[str, Snippet], folder: Path) -> None:
        self._snippets = snippets
        self._runtime = ctypes.CDLL(str(toolchain.runtime_library()))
        self._library = build(source_of(snippets), folder)

    def __call__(self, name: str, *inputs: Array | Sequence[float]) -> Array:
        """Return the first output for these inputs. They are filled up to whole warps; the result leaves that out."""
        outputs, expected = self._snippets[name].arrays()
        arrays = [
            np.ascontiguousarray(array, dtype=NUMPY_TYPES[operand.type]).ravel()
            for array, operand in zip(inputs, expected, strict=True)
        ]
        threads = len(arrays[0]) // expected[0].count
        warps = -(-threads // 32)
        padded = [np.resize(array, 32 * warps * o.count) for array, o in zip(arrays, expected, strict=True)]
        results = [np.zeros(32 * warps * o.count, dtype=NUMPY_TYPES[o.type]) for o in outputs]
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in padded + results]
        # Others use the same runtime in this process: a fault of theirs stays until somebody begins anew.
        self._runtime.kbemu_begin(0, ctypes.c_uint64(7), ctypes.c_uint32(0), 0, 1, ctypes.c_uint64(0), 60)
        assert getattr(self._library, f"run_{name}")(*pointers, ctypes.c_long(warps)) == 0
        return results[0][: threads * outputs[0].count]
