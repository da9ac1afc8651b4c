"""Count of the terms that a call sums up on the way to its results, and of the operations that it takes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

_PRODUCTS = {"mm": 0, "bmm": 0, "mv": 0, "dot": 0, "addmm": 1, "baddbmm": 1, "addmv": 1, "addbmm": 1, "_int_mm": 0}
"""Operators that multiply, and the position of the first factor."""
_ALONG = (
    "softmax",
    "_softmax",
    "_log_softmax",
    "log_softmax",
    "cumsum",
    "cumprod",
    "logcumsumexp",
    "logsumexp",
    "sort",
)


class Work(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counter of sums and operations while a call runs, on any device, `meta` included.

    `lengths` has one entry for each operator that sums, in order. `flops` counts two for each product of a contraction.
    Any other operator counts the elements of its largest argument or of its first output, whichever are more.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.lengths: list[int] = []
        self.flops = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run one operator, and count its terms and operations."""
        result = function(*args, **(kwargs or {}))
        outputs = [tensor for tensor in (result if isinstance(result, tuple | list) else [result]) if _is_real(tensor)]
        if outputs:
            name = function._schema.name.rpartition("::")[2]
            length = _length(name, args, kwargs or {}, outputs)
            if length is not None:
                self.lengths.append(length)
            is_product = length is not None and (name in _PRODUCTS or "convolution" in name or "attention" in name)
            read = max((value.numel() for value in args if isinstance(value, Tensor)), default=0)
            self.flops += 2 * outputs[0].numel() * (length or 1) if is_product else max(read, outputs[0].numel())
        return result


def _is_real(value: Any) -> bool:
    return isinstance(value, Tensor) and (value.is_floating_point() or value.dtype == torch.int64)


def _length(name: str, args: Sequence[Any], kwargs: Any, outputs: Sequence[Tensor]) -> int | None:
    """Return the number of terms of one sum; None for an operator that sums nothing."""
    name = name.rstrip("_") if name not in _PRODUCTS else name
    tensors = [value for value in args if isinstance(value, Tensor)]
    if name in _PRODUCTS:
        return int(args[_PRODUCTS[name]].shape[-1])
    if name == "convolution_backward":
        return _of_convolution_backward(args)
    if "convolution" in name:
        return _of_convolution(args)
    if name.startswith(("native_", "_native_batch_norm", "cudnn_batch_norm", "_batch_norm")) and len(outputs) > 1:
        return tensors[0].numel() // max(1, outputs[1].numel())
    if "scaled_dot_product" in name:
        return int(tensors[0].shape[-1] + tensors[1].shape[-2])
    if name in _ALONG and tensors and tensors[0].dim():
        dim = next((value for value in args[1:] if type(value) is int), kwargs.get("dim", -1))
        return int(tensors[0].shape[dim if type(dim) is int else -1])
    largest = max((tensor.numel() for tensor in tensors), default=1)
    if name.startswith(("sum", "mean", "prod", "var", "std", "linalg_vector_norm", "norm")):
        return largest // max(1, outputs[0].numel())
    if "avg_pool" in name and "backward" not in name:
        window = args[1] if len(args) > 1 else ()
        is_fixed = "adaptive" not in name and isinstance(window, list | tuple)
        return math.prod(window) if is_fixed else max(1, largest // max(1, outputs[0].numel()))
    return None


def _of_convolution_backward(args: Sequence[Any]) -> int:
    """Return the terms in a gradient of the input or in one of the weights, at most, whichever are more."""
    gradient, weight = args[0], args[2]
    window = int(math.prod(weight.shape[2:]))
    places = int(gradient.numel()) // max(1, int(gradient.shape[1]))
    return max(int(weight.shape[0]) * window, places)


def _of_convolution(args: Sequence[Any]) -> int:
    """Return input channels of a group times the window; if transposed, the most that one output can get."""
    weight, is_transposed = args[1], bool(args[6]) if len(args) > 6 else False
    window = int(math.prod(weight.shape[2:]))
    if not is_transposed:
        return int(weight.shape[1]) * window
    groups = args[8] if len(args) > 8 else 1
    return int(weight.shape[0]) // max(1, groups) * window
