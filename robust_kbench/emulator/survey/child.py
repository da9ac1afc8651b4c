"""One kernel of the survey, inside the sandbox: build it, run it if it is a model, write what happened.

`python -I -m robust_kbench.emulator.survey.child REQUEST.json`, with the result as result.json beside it.
"""

from __future__ import annotations

import ast
import ctypes
import json
import sys
import time
import types
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from robust_kbench.emulator.survey import extension
from robust_kbench.errors import BuildError, Unsupported

_SEED = 42
_TOLERANCE = 1e-2
_POISON = 0x7FA5A5A5


def main() -> None:
    """Work through the request; whatever is raised becomes the reason in the result."""
    request = Path(sys.argv[1])
    result: dict[str, Any] = {"built": False, "ran": False}
    survey = _Survey(json.loads(request.read_text()), request.parent, result)
    try:
        survey.extension() if survey.request["kind"] == "extension" else survey.model()
    except (BuildError, Unsupported) as error:
        result["reason"] = f"{type(error).__name__}: {error}"
    except Exception as error:  # noqa: BLE001 - whatever the kernel's author raises
        result["reason"] = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
    request.with_name("result.json").write_text(json.dumps(result))


class _Survey:
    def __init__(self, request: dict[str, Any], folder: Path, result: dict[str, Any]) -> None:
        self.request, self.folder, self.result = request, folder, result
        self.libraries = extension.Libraries(Path(request["runtime"]), Path(request["torch"]))
        self.modules = 0
        import torch

        torch.set_num_threads(1)
        # From here on tensors are in the emulator's memory.
        ctypes.CDLL(request["torch"])
        self.runtime = ctypes.CDLL(request["runtime"])
        self.runtime.kbemu_end.restype = ctypes.c_char_p

    def extension(self) -> None:
        path = Path(self.request["path"])
        siblings = {file.name: file.read_text() for file in path.parent.glob("*.cuh")}
        self.build("extension", {path.name: path.read_text(), **siblings}, ())

    def model(self) -> None:
        import torch
        from torch.utils import cpp_extension

        from robust_kbench.emulator.survey import pretend

        vars(cpp_extension).update(load_inline=self.load_inline, load=self.load)
        pretend.install()
        if self.request["reference"] is None:
            raise LookupError("no reference found for it")
        reference = self.module(Path(self.request["reference"]))
        candidate = self.module(Path(self.request["path"]))
        self.result["built"] = self.modules > 0
        arguments = self.arguments(reference, "get_init_inputs")
        torch.manual_seed(_SEED)
        expected_of = reference.Model(*arguments)
        torch.manual_seed(_SEED)
        actual_of = getattr(candidate, "ModelNew", candidate.Model)(*arguments)
        self.result["built"] = self.modules > 0
        torch.manual_seed(_SEED)
        inputs = self.arguments(reference, "get_inputs")
        with torch.no_grad():
            expected = expected_of(*_copies(inputs))
            actual = self.emulate(actual_of, _copies(inputs))
        self.result["ran"] = True
        self.compare(expected, actual)

    def emulate(self, model: Any, inputs: Sequence[Any]) -> Any:
        runtime = self.runtime
        runtime.kbemu_begin(
            0, ctypes.c_uint64(_SEED), ctypes.c_uint32(_POISON), 0, self.request["cores"], ctypes.c_uint64(0), 0
        )
        started = time.perf_counter()
        result = model(*inputs)
        self.result["run_seconds"] = time.perf_counter() - started
        findings = json.loads(runtime.kbemu_end())
        self.result["findings"] = findings
        return result

    def compare(self, expected: Any, actual: Any) -> None:
        import torch

        pairs = list(zip(_tensors(expected), _tensors(actual), strict=True))
        errors = [float((a.double() - e.double()).abs().max()) if e.numel() else 0.0 for e, a in pairs]
        self.result["max_error"] = max(errors, default=0.0)
        self.result["right"] = all(
            torch.allclose(a.double(), e.double(), atol=_TOLERANCE, rtol=_TOLERANCE) for e, a in pairs
        )

    def module(self, path: Path) -> types.ModuleType:
        """Import a file, with a smaller batch where one was asked for."""
        module = types.ModuleType(path.stem)
        module.__file__ = str(path)
        sys.modules[path.stem] = module
        tree = _with_smaller_batch(ast.parse(path.read_text()), self.request["batch"])
        exec(compile(tree, str(path), "exec"), module.__dict__)
        return module

    def arguments(self, module: types.ModuleType, function: str) -> list[Any]:
        return list(getattr(module, function, list)())

    def load_inline(
        self, name: str, cpp_sources: Any, cuda_sources: Any = None, functions: Any = None, **options: Any
    ) -> types.ModuleType:
        """As torch's: one C++ source with the bindings, one CUDA source."""
        main = ["#include <torch/extension.h>", *_list(cpp_sources)]
        if functions is not None:
            names = functions.items() if isinstance(functions, dict) else [(f, f) for f in _list(functions)]
            bindings = "".join(f'm.def("{name}", &{name}, "{text}");\n' for name, text in names)
            main.append(f"PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {{\n{bindings}}}")
        cuda = ["#include <torch/types.h>", "#include <cuda.h>", "#include <cuda_runtime.h>", *_list(cuda_sources)]
        sources = {"main.cpp": "\n".join(main), "cuda.cu": "\n".join(cuda)}
        return self.build(name, sources, _list(options.get("extra_cuda_cflags")))

    def load(self, name: str, sources: Any, **options: Any) -> types.ModuleType:
        """As torch's, for sources in files."""
        texts = {Path(source).name: Path(source).read_text() for source in _list(sources)}
        return self.build(name, texts, _list(options.get("extra_cuda_cflags")))

    def build(self, name: str, sources: dict[str, str], flags: Sequence[str]) -> types.ModuleType:
        started = time.perf_counter()
        self.modules += 1
        folder = self.folder / f"module{self.modules}"
        try:
            module = extension.compile_module(
                name, sources, folder, self.libraries, flags=flags, checked=self.request["checked"]
            )
        except BaseException:
            self.modules = -1000
            raise
        self.result["built"] = True
        spent = self.result.get("build_seconds", 0.0)
        self.result["build_seconds"] = spent + time.perf_counter() - started
        return module


def _with_smaller_batch(tree: ast.Module, batch: int) -> ast.Module:
    """Lower the constant `batch_size` of a module to `batch`; 0 leaves it."""
    for node in tree.body if batch else ():
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Constant):
            continue
        names = [target.id for target in node.targets if isinstance(target, ast.Name)]
        if "batch_size" in names and isinstance(node.value.value, int):
            node.value.value = min(node.value.value, batch)
    return tree


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [] if value is None else [value]


def _copies(values: Sequence[Any]) -> list[Any]:
    import torch

    return [value.clone() if isinstance(value, torch.Tensor) else value for value in values]


def _tensors(value: Any) -> list[Any]:
    import torch

    if isinstance(value, torch.Tensor):
        return [value]
    return [tensor for part in value for tensor in _tensors(part)] if isinstance(value, (list, tuple)) else []


if __name__ == "__main__":
    main()
