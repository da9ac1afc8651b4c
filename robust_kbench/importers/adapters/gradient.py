"""Gradients of a function of tensors and numbers, by automatic differentiation."""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from robust_kbench.importers.adapters.exact import argument, exactly

# constants: an import writes others
PROBLEM = ""  # the imported text
ENTRY = ""  # the name of the forward function in it
ARGUMENTS: tuple[tuple[str, Any], ...] = ()  # its arguments: how, and the position among ours, a value or a shape
UPSTREAM = 0  # the position of the gradient that comes from behind
GRADIENTS: tuple[int, ...] = ()  # which of the forward function's arguments are differentiated by, in order
# end of constants

Value = Tensor | int | float


def reference(*values: Value) -> Tensor | tuple[Tensor, ...]:
    """The gradients by the arguments in GRADIENTS."""
    arguments = [_leaf(how, detail, values) for how, detail in ARGUMENTS]
    leaves = [arguments[place] for place in GRADIENTS]
    upstream: Any = values[UPSTREAM]
    if upstream.dtype == torch.float64:
        with exactly(upstream.dtype, ()):
            found = _gradients(arguments, leaves, upstream)
    else:
        found = _gradients(arguments, leaves, upstream)
    return found[0] if len(found) == 1 else found


def _gradients(arguments: Sequence[Any], leaves: Sequence[Tensor], upstream: Tensor) -> tuple[Tensor, ...]:
    with torch.enable_grad():
        for leaf in leaves:
            leaf.requires_grad_()
        result = _function()(*arguments)
        return tuple(torch.autograd.grad(result, leaves, upstream.reshape(result.shape)))


def _leaf(how: str, detail: Any, values: Sequence[Any]) -> Any:
    """An argument of the forward function; one that the backward pass is not given has no influence on it."""
    if how == "zeros":
        first = next(value for value in values if isinstance(value, Tensor) and value.is_floating_point())
        shape = [size if isinstance(size, int) else values[size[0]].shape[size[1]] for size in detail]
        return first.new_zeros(shape)
    value = argument(how, detail, values)
    return value.detach() if isinstance(value, Tensor) and value.is_floating_point() else value


@lru_cache(maxsize=1)
@torch.compiler.disable  # type: ignore[untyped-decorator]
def _function() -> Callable[..., Any]:
    namespace = types.ModuleType("problem").__dict__
    exec(compile(PROBLEM, "problem.py", "exec"), namespace)
    function: Callable[..., Any] = namespace[ENTRY]
    return function
