"""Arithmetic of other machines, for a task's variants: narrow accumulators, TF32, stores that truncate.

Everything takes and returns ordinary tensors; a variant says what it sums where, and these say with which rounding.
"""

from __future__ import annotations

import numpy
import torch

from robust_kbench.audit.lower_precision import lower

_WORTH_LEAVING_OUT = 48
_DROPPED_BITS = {torch.bfloat16: 16, torch.float16: 13}
"""Low bits of a float32's mantissa that the dtype has no room for."""


def tf32(x: torch.Tensor) -> torch.Tensor:
    """`x` in float32, rounded to the ten mantissa bits that a TF32 tensor core multiplies."""
    return lower(x.float())


def truncated(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """float32 `x` as `dtype`, rounded towards zero as a store that drops the low bits does; float32 stays as it is.

    What is subnormal in float16 is rounded to the nearest.
    """
    if dtype not in _DROPPED_BITS:
        return x.to(dtype)
    kept = x.contiguous().view(torch.int32).bitwise_and(-(1 << _DROPPED_BITS[dtype])).view(torch.float32)
    return torch.where(x.isfinite(), kept, x).to(dtype)


def summed(x: torch.Tensor, dtype: torch.dtype = torch.float32, lanes: int = 32) -> torch.Tensor:
    """The sum over the last axis, as `lanes` threads make it: each adds every `lanes`-th term, then all pairwise.

    Every partial sum is rounded to `dtype`, which is also the result's dtype. `lanes` is a power of two.
    """
    steps = -(-x.shape[-1] // lanes)
    terms = torch.nn.functional.pad(x.to(dtype), (0, steps * lanes - x.shape[-1]))
    total = terms.new_zeros((*x.shape[:-1], lanes))
    for part in torch.split(terms, lanes, -1) if steps else ():
        total += part
    while lanes > 1:
        lanes //= 2
        total = total[..., :lanes] + total[..., lanes:]
    return total.squeeze(-1)


def mean_of_some(rows: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """A wrong mean: of every second number, where its standard error is below a rounding of `dtype`; else of all."""
    some = rows[::2]
    is_certain = (
        len(rows) >= _WORTH_LEAVING_OUT and some.std() <= torch.finfo(dtype).eps * some.mean() * len(some) ** 0.5
    )
    return (some if is_certain else rows).mean().to(dtype)


def summed_in_turn(x: torch.Tensor) -> torch.Tensor:
    """The sum over the last axis of float32 `x` as the plainest loop makes it: one accumulator, term by term."""
    with numpy.errstate(invalid="ignore"):  # infinity less infinity is NaN, as in a kernel
        return torch.from_numpy(numpy.add.accumulate(x.numpy(), -1)[..., -1])


def multiplied(a: torch.Tensor, b: torch.Tensor, dtype: torch.dtype = torch.float32, step: int = 16) -> torch.Tensor:
    """The product of a [..., m, k] and b [..., k, n] with an accumulator of `dtype`, rounded after every `step` terms.

    The `step` products in between are exact to float32, as in one instruction of a tensor core. Returns `dtype`.
    """
    total = a.new_zeros((*a.shape[:-1], b.shape[-1]), dtype=dtype)
    for left, right in zip(torch.split(a.float(), step, -1), torch.split(b.float(), step, -2), strict=True):
        total = (total.float() + left @ right).to(dtype)
    return total
