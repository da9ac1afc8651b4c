"""Variants of the affine map with a residual: honest ones that must pass and wrong ones that must fail."""

import torch
from torch import Tensor

from robust_kbench.audit.emulated import multiplied, tf32


def _product(x: Tensor, weight: Tensor) -> Tensor:
    return x.float() @ weight.float().T


def _sum(product: Tensor, bias: Tensor, residual: Tensor) -> Tensor:
    return (product.float() + bias.float() + residual.float()).to(residual.dtype)


def tensor_core(x: Tensor, weight: Tensor, bias: Tensor, residual: Tensor) -> Tensor:
    """Sixteen terms at a time into float32 accumulators, bias and residual last."""
    return _sum(multiplied(x, weight.T), bias, residual)


def starts_from_the_residual(x: Tensor, weight: Tensor, bias: Tensor, residual: Tensor) -> Tensor:
    """The float32 accumulators start from the residual and the bias."""
    total = residual.float() + bias.float()
    for left, right in zip(x.float().split(64, 1), weight.float().split(64, 1), strict=True):
        total = total + left @ right.T
    return total.to(x.dtype)


def residual_after_the_store(x: Tensor, weight: Tensor, bias: Tensor, residual: Tensor) -> Tensor:
    """Two kernels: the affine map is stored in the task's dtype before the residual is added."""
    return (multiplied(x, weight.T, step=4) + bias.float()).to(x.dtype) + residual


def split_k(x: Tensor, weight: Tensor, bias: Tensor, residual: Tensor) -> Tensor:
    """Three blocks of the input features, each summed on its own in float32, added up from the last one on."""
    size = -(-x.shape[1] // 3)
    blocks = [
        left @ right.T for left, right in zip(x.float().split(size, 1), weight.float().split(size, 1), strict=True)
    ]
    return _sum(sum(reversed(blocks)), bias, residual)


def in_double(x: Tensor, weight: Tensor, bias: Tensor, residual: Tensor) -> Tensor:
    """float64 accumulators, rounded once."""
    return (torch.addmm(bias.double(), x.double(), weight.double().T) + residual.double()).to(x.dtype)


def tf32_once(x: Tensor, weight: Tensor, bias: Tensor, residual: Tensor) -> Tensor:
    """float32: the factors are rounded to TF32."""
    return _sum(tf32(x) @ tf32(weight).T, bias, residual)


def two_bfloat16(x: Tensor, weight: Tensor, bias: Tensor, residual: Tensor) -> Tensor:
    """float32: each factor as a sum of two bfloat16 numbers, which holds 16 of 24 bits."""
    x_high, w_high = x.bfloat16().float(), weight.bfloat16().float()
    x_low, w_low = (x - x_high).bfloat16().float(), (weight - w_high).bfloat16().float()
    return _sum(x_high @ w_low.T + x_low @ w_high.T + x_high @ w_high.T, bias, residual)


def half_accumulator(x: Tensor, weight: Tensor, bias: Tensor, residual: Tensor) -> Tensor:
    """float16 accumulators, rounded after every eight terms."""
    return _sum(multiplied(x, weight.T, torch.float16, step=8), bias, residual)


def accumulator_of_the_dtype(x: Tensor, weight: Tensor, bias: Tensor, residual: Tensor) -> Tensor:
    """Halves: accumulators of the inputs' own dtype, rounded after every eight terms."""
    return _sum(multiplied(x, weight.T, x.dtype, step=8), bias, residual)


def residual_in_bfloat16(x: Tensor, weight: Tensor, bias: Tensor, residual: Tensor) -> Tensor:
    """The residual is kept in bfloat16."""
    return _sum(_product(x, weight), bias, residual.bfloat16().to(x.dtype))


def no_residual(x: Tensor, weight: Tensor, bias: Tensor, residual: Tensor) -> Tensor:
    """The residual is left out."""
    return _sum(_product(x, weight), bias, torch.zeros_like(residual))


def residual_subtracted(x: Tensor, weight: Tensor, bias: Tensor, residual: Tensor) -> Tensor:
    """The residual is subtracted."""
    return _sum(_product(x, weight), bias, -residual)


def residual_twice(x: Tensor, weight: Tensor, bias: Tensor, residual: Tensor) -> Tensor:
    """The residual is the initial value, and added again at the end."""
    return _sum(_product(x, weight), bias, 2 * residual)


def residual_of_every_block(x: Tensor, weight: Tensor, bias: Tensor, residual: Tensor) -> Tensor:
    """Split in blocks of 64 input features, each of which adds the residual."""
    return _sum(_product(x, weight), bias, residual * -(-x.shape[1] // 64) if x.shape[1] > 64 else 1.5 * residual)


def residual_of_the_first_row(x: Tensor, weight: Tensor, bias: Tensor, residual: Tensor) -> Tensor:
    """The last row adds the residual of the first, or none where it is alone."""
    first = residual[:1] if len(residual) > 1 else torch.zeros_like(residual)
    return _sum(_product(x, weight), bias, torch.cat((residual[:-1], first)))


def no_bias(x: Tensor, weight: Tensor, bias: Tensor, residual: Tensor) -> Tensor:
    """The bias is left out."""
    return _sum(_product(x, weight), torch.zeros_like(bias), residual)


def drops_the_last_term(x: Tensor, weight: Tensor, bias: Tensor, residual: Tensor) -> Tensor:
    """The last input feature is left out."""
    return _sum(_product(x[:, :-1], weight[:, :-1]), bias, residual)


def drops_the_tail(x: Tensor, weight: Tensor, bias: Tensor, residual: Tensor) -> Tensor:
    """The input features behind the last whole block of eight are left out."""
    whole = x.shape[1] // 8 * 8 or x.shape[1]
    return _sum(_product(x[:, :whole], weight[:, :whole]), bias, residual)


def last_column_without_bias(x: Tensor, weight: Tensor, bias: Tensor, residual: Tensor) -> Tensor:
    """The last output feature misses its bias."""
    return _sum(_product(x, weight), torch.cat((bias[:-1], torch.zeros_like(bias[:1]))), residual)


def one_term_missing_once(x: Tensor, weight: Tensor, bias: Tensor, residual: Tensor) -> Tensor:
    """The largest element misses its last term."""
    product = _product(x, weight)
    row, column = divmod(int(product.argmax()), product.shape[1])
    product[row, column] -= x[row, -1].float() * weight[column, -1].float()
    return _sum(product, bias, residual)


tf32_once.dtypes = two_bfloat16.dtypes = ("float32",)
half_accumulator.dtypes = residual_in_bfloat16.dtypes = ("float32", "float16")
accumulator_of_the_dtype.dtypes = ("float16", "bfloat16")

HONEST = (tensor_core, starts_from_the_residual, residual_after_the_store, split_k, in_double)
MUTANTS = (
    tf32_once, two_bfloat16, half_accumulator, accumulator_of_the_dtype, residual_in_bfloat16, no_residual,
    residual_subtracted, residual_twice, residual_of_every_block, residual_of_the_first_row, no_bias,
    drops_the_last_term, drops_the_tail, last_column_without_bias, one_term_missing_once,
)  # fmt: skip
