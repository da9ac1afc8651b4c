"""Replacement for torch's load and load_inline while a model's file is imported; used inside the sandbox."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from robust_kbench.emulator.survey.extension import Libraries, compile_module


class Builder:
    """Builder of modules for the emulator; keeps count, and the first error, which a model may swallow."""

    def __init__(self, folder: Path, libraries: Libraries, *, checked: bool) -> None:
        self._folder, self._libraries, self._checked = folder, libraries, checked
        self.tried = 0
        self.seconds = 0.0
        self.error: Exception | None = None

    @property
    def built(self) -> bool:
        """True if there was something to build, and all of it was built."""
        return self.tried > 0 and self.error is None

    def load_inline(
        self, name: str, cpp_sources: Any, cuda_sources: Any = None, functions: Any = None, **options: Any
    ) -> ModuleType:
        """Build a module as torch's load_inline does: one C++ source with the bindings, one CUDA source."""
        cpp = ["#include <torch/extension.h>", *_list(cpp_sources)]
        if functions is not None:
            cpp.append(_bindings(functions))
        cuda = ["#include <torch/types.h>", "#include <cuda.h>", "#include <cuda_runtime.h>", *_list(cuda_sources)]
        sources = {"main.cpp": "\n".join(cpp), "cuda.cu": "\n".join(cuda)}
        return self.build(name, sources, _list(options.get("extra_cuda_cflags")))

    def load(self, name: str, sources: Any, **options: Any) -> ModuleType:
        """Build a module from source files, as torch's load does."""
        texts = {Path(source).name: Path(source).read_text() for source in _list(sources)}
        return self.build(name, texts, _list(options.get("extra_cuda_cflags")))

    def build(self, name: str, sources: dict[str, str], flags: Sequence[str] = ()) -> ModuleType:
        """Compile and import a module. Raises BuildError and Unsupported."""
        started = time.perf_counter()
        self.tried += 1
        folder = self._folder / f"module{self.tried}"
        try:
            return compile_module(name, sources, folder, self._libraries, flags=flags, checked=self._checked)
        except Exception as error:
            self.error = self.error or error
            raise
        finally:
            self.seconds += time.perf_counter() - started


def _bindings(functions: Any) -> str:
    described = functions.items() if isinstance(functions, dict) else ((name, name) for name in _list(functions))
    lines = "".join(f'm.def("{name}", &{name}, "{text}");\n' for name, text in described)
    return f"PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {{\n{lines}}}"


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [] if value is None else [value]
