"""Calls a function of tensors and numbers."""

from __future__ import annotations

import types
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from robust_kbench.importers.adapters.exact import argument, exactly, tensors_of

# constants: an import writes others
PROBLEM = ""  # the imported text
ENTRY = ""  # the name of the function in it
ARGUMENTS: tuple[tuple[str, Any], ...] = ()  # how, and the position among the arguments or a value
RESULTS: tuple[str, ...] = ()  # the dtype of each result; empty where it is that of the arguments
# end of constants

Value = Tensor | int | float


def reference(*values: Value) -> Tensor | tuple[Tensor, ...]:
    """The outputs of the imported function."""
    first = next(value for value in values if isinstance(value, Tensor) and value.is_floating_point())
    arguments = [argument(how, detail, values) for how, detail in ARGUMENTS]
    if first.dtype == torch.float64:
        with exactly(first.dtype, ()):
            result = _function()(*arguments)
    else:
        result = _function()(*arguments)
    tensors = tuple(tensors_of(result))
    if RESULTS:
        tensors = tuple(
            tensor.to(getattr(torch, dtype)) if dtype else tensor
            for tensor, dtype in zip(tensors, RESULTS, strict=True)
        )
    return tensors[0] if len(tensors) == 1 else tensors


@lru_cache(maxsize=1)
@torch.compiler.disable  # type: ignore[untyped-decorator]
def _function() -> Callable[..., Any]:
    namespace = types.ModuleType("problem").__dict__
    exec(compile(PROBLEM, "problem.py", "exec"), namespace)
    function: Callable[..., Any] = namespace[ENTRY]
    return function
