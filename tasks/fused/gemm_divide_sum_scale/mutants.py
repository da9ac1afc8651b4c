"""Variants of the product that is summed over its features: honest ones that must pass and wrong ones."""

import torch
from torch import Tensor

from robust_kbench.audit.emulated import multiplied, summed, tf32


def _sums(x: Tensor, weight: Tensor) -> Tensor:
    return (x.float() @ weight.float().T).sum(-1)


def tensor_core(x: Tensor, weight: Tensor, scale: float) -> Tensor:
    """Sixteen terms at a time into float32 accumulators, then 32 lanes along the features."""
    return (summed(multiplied(x, weight.T)) / 2 * scale).to(x.dtype)


def weights_first(x: Tensor, weight: Tensor, scale: float) -> Tensor:
    """The rows of the weights are summed first, in float32; then one product with a vector, by 32 lanes."""
    column = summed(weight.float().T)
    return (summed(x.float() * column) * (0.5 * scale)).to(x.dtype)


def stored_product(x: Tensor, weight: Tensor, scale: float) -> Tensor:
    """Two kernels: the halved product is stored in the task's dtype and summed by eight float32 lanes."""
    stored = (multiplied(x, weight.T, step=8) / 2).to(x.dtype)
    return (summed(stored.float(), lanes=8) * scale).to(x.dtype)


def blocks_of_features(x: Tensor, weight: Tensor, scale: float) -> Tensor:
    """Blocks of 64 features, multiplied, summed and scaled each by itself, added from the last one on."""
    total = x.new_zeros(len(x), dtype=torch.float32)
    for block in reversed(weight.split(64)):
        total = total + _sums(x, block) * (0.5 * scale)
    return total.to(x.dtype)


def in_double(x: Tensor, weight: Tensor, scale: float) -> Tensor:
    """float64 all the way, rounded once."""
    return ((x.double() @ weight.double().T).sum(-1) / 2 * scale).to(x.dtype)


def tf32_once(x: Tensor, weight: Tensor, scale: float) -> Tensor:
    """float32: the factors are rounded to TF32."""
    return _sums(tf32(x), tf32(weight)) / 2 * scale


def bfloat16_product(x: Tensor, weight: Tensor, scale: float) -> Tensor:
    """The product is stored in bfloat16."""
    return ((x.float() @ weight.float().T).bfloat16().float().sum(-1) / 2 * scale).to(x.dtype)


def half_sum(x: Tensor, weight: Tensor, scale: float) -> Tensor:
    """The features are summed in the next lower class, by eight lanes."""
    lower = torch.bfloat16 if x.dtype == torch.float32 else x.dtype
    return (summed(x.float() @ weight.float().T / 2, lower, lanes=8).float() * scale).to(x.dtype)


def half_accumulator(x: Tensor, weight: Tensor, scale: float) -> Tensor:
    """float16 accumulators in the product, rounded after every eight terms."""
    return (multiplied(x, weight.T, torch.float16, step=8).float().sum(-1) / 2 * scale).to(x.dtype)


def accumulator_of_the_dtype(x: Tensor, weight: Tensor, scale: float) -> Tensor:
    """Halves: accumulators of the inputs' own dtype, rounded after every two terms, and the sum likewise."""
    product = multiplied(x, weight.T, x.dtype, step=2)
    return (summed(product, x.dtype, lanes=4).float() * (0.5 * scale)).to(x.dtype)


def not_halved(x: Tensor, weight: Tensor, scale: float) -> Tensor:
    """The division is left out."""
    return (_sums(x, weight) * scale).to(x.dtype)


def mean(x: Tensor, weight: Tensor, scale: float) -> Tensor:
    """The mean of the features instead of half their sum, or all of it where it is that."""
    features = len(weight) if len(weight) != 2 else 1
    return (_sums(x, weight) / features * scale).to(x.dtype)


def factor_of_one_and_a_half(x: Tensor, weight: Tensor, scale: float) -> Tensor:
    """The factor is taken for 1.5."""
    return (_sums(x, weight) / 2 * 1.5).to(x.dtype)


def divided_by_the_factor(x: Tensor, weight: Tensor, scale: float) -> Tensor:
    """Divided by the factor."""
    return (_sums(x, weight) / 2 / scale).to(x.dtype)


def last_feature_lost(x: Tensor, weight: Tensor, scale: float) -> Tensor:
    """The last feature is left out of the sum."""
    return (_sums(x, weight[:-1]) / 2 * scale).to(x.dtype)


def last_input_lost(x: Tensor, weight: Tensor, scale: float) -> Tensor:
    """The last input feature is left out."""
    return (_sums(x[:, :-1], weight[:, :-1]) / 2 * scale).to(x.dtype)


def tail_of_features_lost(x: Tensor, weight: Tensor, scale: float) -> Tensor:
    """Features behind the last whole block of sixteen are left out."""
    return (_sums(x, weight[: len(weight) // 16 * 16 or len(weight)]) / 2 * scale).to(x.dtype)


def magnitudes(x: Tensor, weight: Tensor, scale: float) -> Tensor:
    """The features lose their signs."""
    return ((x.float() @ weight.float().T).abs().sum(-1) / 2 * scale).to(x.dtype)


def rows_of_the_weights(x: Tensor, weight: Tensor, scale: float) -> Tensor:
    """The weights are read as [in_features, hidden]."""
    turned = weight.reshape(weight.shape[1], weight.shape[0]).T
    return (_sums(x, turned) / 2 * scale).to(x.dtype)


def last_row_of_the_first(x: Tensor, weight: Tensor, scale: float) -> Tensor:
    """The last row repeats the first one's sum."""
    y = _sums(x, weight) / 2 * scale
    return torch.cat((y[:-1], y[:1])).to(x.dtype)


tf32_once.dtypes = ("float32",)
bfloat16_product.dtypes = half_accumulator.dtypes = ("float32", "float16")
accumulator_of_the_dtype.dtypes = ("float16", "bfloat16")

HONEST = (tensor_core, weights_first, stored_product, blocks_of_features, in_double)
MUTANTS = (
    tf32_once, bfloat16_product, half_sum, half_accumulator, accumulator_of_the_dtype, not_halved, mean,
    factor_of_one_and_a_half, divided_by_the_factor, last_feature_lost, last_input_lost, tail_of_features_lost,
    magnitudes, rows_of_the_weights, last_row_of_the_first,
)  # fmt: skip
