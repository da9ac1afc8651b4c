"""PyTorch with every sum made term by term in one float32 accumulator, as the plainest loop of a kernel makes it.

The operators that a reference calls are seen as PyTorch dispatches them. An operator that contains a sum is taken apart
by PyTorch's own decompositions. Sums, means, norms and products of matrices are left then, and these are made here. An
operator without a known decomposition, such as a convolution, is left to PyTorch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import torch
from torch._decomp import get_decompositions
from torch.utils._python_dispatch import TorchDispatchMode

from robust_kbench.audit.generic import float32_inside
from robust_kbench.audit.setting import Setting, Tensors

_AT_ONCE = 1 << 22  # products that are in memory together

aten = torch.ops.aten


def in_turn(setting: Setting) -> Tensors | None:
    """Return the reference's answer with such sums, in float32 from the inputs on, rounded once. None for float64."""
    if setting.case.dtype == "float64":
        return None
    with SumsInTurn():
        return float32_inside(setting) or setting.reference.native(setting.inputs)


class SumsInTurn(TorchDispatchMode):
    """Mode in which this thread sums term by term, while it is entered."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        own = _OWN.get(func)
        if own is not None and _is_float32(args[0]):
            return own(*args, **(kwargs or {}))
        whole = _taken_apart().get(func)
        if whole is None:
            return func(*args, **(kwargs or {}))
        with self:
            return whole(*args, **(kwargs or {}))


def _is_float32(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.dtype == torch.float32


def _total(values: torch.Tensor, dims: Sequence[int] | None, keepdim: bool = False) -> torch.Tensor:
    """Sum over `dims`, or over all axes where there are none. The first term is the accumulator's first value."""
    kept, gone = _split(values, dims)
    rows = values.permute(*kept, *gone).reshape(*(values.shape[dim] for dim in kept), -1)
    with np.errstate(all="ignore"):
        sums = np.add.accumulate(rows.numpy(), axis=-1)[..., -1] if rows.shape[-1] else np.zeros(rows.shape[:-1])
    found = torch.from_numpy(np.array(sums, dtype=np.float32))
    return found.reshape([1 if dim in gone else size for dim, size in enumerate(values.shape)]) if keepdim else found


def _split(values: torch.Tensor, dims: Sequence[int] | None) -> tuple[list[int], list[int]]:
    every = range(values.dim())
    gone = sorted({dim % values.dim() for dim in dims}) if dims else list(every)
    return [dim for dim in every if dim not in gone], gone


def _count(values: torch.Tensor, dims: Sequence[int] | None) -> int:
    return math.prod(values.shape[dim] for dim in _split(values, dims)[1])


def _sum(
    values: torch.Tensor, dim: Sequence[int] | None = None, keepdim: bool = False, *, dtype: Any = None
) -> torch.Tensor:
    return _total(values, dim, keepdim).to(dtype or values.dtype)


def _mean(
    values: torch.Tensor, dim: Sequence[int] | None = None, keepdim: bool = False, *, dtype: Any = None
) -> torch.Tensor:
    return (_total(values, dim, keepdim) / _count(values, dim)).to(dtype or values.dtype)


def _var_mean(
    values: torch.Tensor, dim: Sequence[int] | None = None, *, correction: float | None = None, keepdim: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    mean = _mean(values, dim, True)
    left = _count(values, dim) - (1 if correction is None else correction)
    found = _total((values - mean).square(), dim, keepdim) / max(0.0, left)
    return found, mean if keepdim else mean.reshape(found.shape)


def _var(values: torch.Tensor, dim: Sequence[int] | None = None, **options: Any) -> torch.Tensor:
    return _var_mean(values, dim, **options)[0]


def _std(values: torch.Tensor, dim: Sequence[int] | None = None, **options: Any) -> torch.Tensor:
    return _var(values, dim, **options).sqrt()


def _vector_norm(
    values: torch.Tensor, order: float = 2, dim: Sequence[int] | None = None, keepdim: bool = False, **options: Any
) -> torch.Tensor:
    if order == 2:
        return _total(values.square(), dim, keepdim).sqrt()
    if order == 1:
        return _total(values.abs(), dim, keepdim)
    found: torch.Tensor = aten.linalg_vector_norm.default(values, order, dim, keepdim, **options)
    return found


def _products(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """Compute the products of two batches of matrices, each sum term by term."""
    batch, rows, inner = left.shape
    columns = right.shape[2]
    found = torch.empty(batch, rows, columns)
    step = max(1, _AT_ONCE // max(1, columns * inner))
    for each in range(batch):
        for start in range(0, rows, step):
            terms = left[each, start : start + step, None, :] * right[each].T
            found[each, start : start + step] = _total(terms, [2])
    return found


def _mm(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    return _products(left[None], right[None])[0]


def _mv(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    return _total(left * right, [1])


def _dot(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    return _total(left * right, None)


def _plus(product: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    def added(bias: torch.Tensor, left: torch.Tensor, right: torch.Tensor, *, beta: float = 1, alpha: float = 1) -> Any:
        return beta * bias + alpha * product(left, right)

    return added


def _cumsum(values: torch.Tensor, dim: int, *, dtype: Any = None) -> torch.Tensor:
    with np.errstate(all="ignore"):
        return torch.from_numpy(np.add.accumulate(values.numpy(), axis=dim)).to(dtype or values.dtype)


_OWN: Mapping[Any, Callable[..., Any]] = {
    aten.sum.default: _sum,
    aten.sum.dim_IntList: _sum,
    aten.mean.default: _mean,
    aten.mean.dim: _mean,
    aten.var.correction: _var,
    aten.var_mean.correction: _var_mean,
    aten.std.correction: _std,
    aten.linalg_vector_norm.default: _vector_norm,
    aten.mm.default: _mm,
    aten.bmm.default: _products,
    aten.mv.default: _mv,
    aten.dot.default: _dot,
    aten.addmm.default: _plus(_mm),
    aten.addmv.default: _plus(_mv),
    aten.baddbmm.default: _plus(_products),
    aten.cumsum.default: _cumsum,
}


@cache
def _taken_apart() -> Mapping[Any, Callable[..., Any]]:
    """Return PyTorch's decompositions of the operators that contain such a sum."""
    return get_decompositions(
        [
            aten._softmax, aten._log_softmax, aten._softmax_backward_data, aten._log_softmax_backward_data,
            aten.logsumexp, aten.native_layer_norm, aten.native_layer_norm_backward, aten.native_group_norm,
            aten.native_group_norm_backward, aten.native_batch_norm, aten._native_batch_norm_legit, aten.mse_loss,
            aten.huber_loss, aten.smooth_l1_loss, aten.nll_loss_forward, aten.norm, aten.renorm,
            aten.binary_cross_entropy, aten.linalg_matrix_norm, aten.dist,
        ]
    )  # fmt: skip
