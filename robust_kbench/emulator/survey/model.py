"""Run a model in KernelBench's form against its reference, both made from one seed; used inside the sandbox."""

from __future__ import annotations

import ast
import ctypes
import json
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch.utils import cpp_extension

from robust_kbench.emulator.survey import pretend
from robust_kbench.emulator.survey.builder import Builder

_SEED = 42
_TOLERANCE = 1e-2
_POISON = 0x7FA5A5A5
_PART = 1 << 20


def run(
    path: Path, reference_path: Path | None, builder: Builder, request: dict[str, Any], result: dict[str, Any]
) -> Iterator[None]:
    """Fill in the result as far as the model comes, with a pause before the kernels run.

    Raises any exception that the code of the model's author raises.
    """
    vars(cpp_extension).update(load_inline=builder.load_inline, load=builder.load)
    pretend.install()
    candidate = _module(path, request["batch"])
    reference = _module(reference_path, request["batch"]) if reference_path else None
    model, arguments, inputs = _prepare(candidate, reference)
    with torch.no_grad():
        result["reason"] = "the process died in it"
        yield
        actual = _emulate(model, _copies(inputs), request, result)
        result |= {"ran": True, "reason": ""}
        if reference is not None:
            _compare(_seeded(reference.Model, arguments)(*_copies(inputs)), actual, result)


def _prepare(candidate: ModuleType, reference: ModuleType | None) -> tuple[Any, list[Any], list[Any]]:
    """Return the model, its constructor's arguments, and its inputs, as the reference has them.

    A few models were written for other inputs than their number says, and bring their own.
    """
    for source in (reference, candidate):
        if not hasattr(source, "get_inputs"):
            continue
        arguments = _call(source, "get_init_inputs")
        try:
            model = _seeded(getattr(candidate, "ModelNew", candidate.Model), arguments)
        except TypeError:
            if source is candidate or not hasattr(candidate, "get_inputs"):
                raise
            continue
        torch.manual_seed(_SEED)
        return model, arguments, _call(source, "get_inputs")
    raise LookupError("no inputs and no reference found for it")


def _seeded(model: Any, arguments: Sequence[Any]) -> Any:
    torch.manual_seed(_SEED)
    return model(*arguments)


def _emulate(model: Any, inputs: Sequence[Any], request: dict[str, Any], result: dict[str, Any]) -> Any:
    runtime = ctypes.CDLL(request["runtime"])
    runtime.kbemu_end.restype = ctypes.c_char_p
    seed, poison, no_limit = ctypes.c_uint64(_SEED), ctypes.c_uint32(_POISON), ctypes.c_uint64(0)
    runtime.kbemu_begin(0, seed, poison, request["checked"], request["cores"], no_limit, 0)
    torch.manual_seed(_SEED)
    started = time.perf_counter()
    output = model(*inputs)
    result["run_seconds"] = time.perf_counter() - started
    result["findings"] = json.loads(runtime.kbemu_end())
    return output


def _compare(expected: Any, actual: Any, result: dict[str, Any]) -> None:
    result["max_error"], result["right"] = 0.0, True
    for e, a in zip(_tensors(expected), _tensors(actual), strict=True):
        if e.shape != a.shape:
            raise ValueError(f"a tensor of shape {list(a.shape)} instead of {list(e.shape)}")
        for left, right in zip(_parts(e), _parts(a), strict=True):
            error = float((left - right).abs().max())
            result["max_error"] = max(result["max_error"], error) if error == error else error
            result["right"] &= torch.allclose(right, left, atol=_TOLERANCE, rtol=_TOLERANCE)


def _parts(tensor: torch.Tensor) -> Iterator[torch.Tensor]:
    """Return an iterator over all elements in double precision, a few megabytes at a time."""
    flat = tensor.flatten()
    return (flat[start : start + _PART].double() for start in range(0, flat.numel(), _PART))


def _module(path: Path, batch: int) -> ModuleType:
    """Import a file, with a smaller batch where one was asked for."""
    module = ModuleType(path.stem)
    module.__file__ = str(path)
    sys.modules[path.stem] = module
    tree = _with_smaller_batch(ast.parse(path.read_text()), batch)
    exec(compile(tree, str(path), "exec"), module.__dict__)
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


def _call(module: Any, function: str) -> list[Any]:
    return list(getattr(module, function, list)())


def _copies(values: Sequence[Any]) -> list[Any]:
    return [value.clone() if isinstance(value, torch.Tensor) else value for value in values]


def _tensors(value: Any) -> list[Any]:
    if isinstance(value, torch.Tensor):
        return [value]
    return [tensor for part in value for tensor in _tensors(part)] if isinstance(value, list | tuple) else []
