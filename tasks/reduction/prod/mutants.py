"""Variants of the product: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import tf32


def _multiplied(x: torch.Tensor, dtype: torch.dtype = torch.float32, lanes: int = 32) -> torch.Tensor:
    """The product over the middle axis by `lanes` threads, a power of two, each of which takes every `lanes`-th factor.

    Every partial product is rounded to `dtype`, which is also the result's dtype.
    """
    filled = torch.nn.functional.pad(x.to(dtype), (0, 0, 0, -x.shape[1] % lanes), value=1.0)
    y = torch.ones_like(filled[:, :lanes])
    for part in filled.split(lanes, 1):
        y = y * part
    while lanes > 1:
        lanes //= 2
        y = y[:, :lanes] * y[:, lanes:]
    return y[:, 0]


def warp_for_a_product(x: torch.Tensor) -> torch.Tensor:
    """32 lanes in float32, then a tree."""
    return _multiplied(x).to(x.dtype)


def four_chains(x: torch.Tensor) -> torch.Tensor:
    """Four float32 accumulators."""
    return _multiplied(x, lanes=4).to(x.dtype)


def in_blocks(x: torch.Tensor) -> torch.Tensor:
    """Blocks of 128 factors, their products multiplied from the last to the first, as atomics may come."""
    y = x.new_ones((x.shape[0], x.shape[2]), dtype=torch.float32)
    for part in reversed(x.float().split(128, 1)):
        y = y * part.prod(1)
    return y.to(x.dtype)


def in_double(x: torch.Tensor) -> torch.Tensor:
    """A float64 accumulator."""
    return x.double().prod(1).to(x.dtype)


def last_factor_lost(x: torch.Tensor) -> torch.Tensor:
    """The last factor is left out."""
    return x[:, :-1].float().prod(1).to(x.dtype)


def tail_lost(x: torch.Tensor) -> torch.Tensor:
    """Factors behind the last whole vector of eight are left out."""
    return x[:, : x.shape[1] // 8 * 8].float().prod(1).to(x.dtype)


def first_factor_twice(x: torch.Tensor) -> torch.Tensor:
    """The first factor is the initial value too."""
    return (x[:, 0].float() * x.float().prod(1)).to(x.dtype)


def padded_with_zeros(x: torch.Tensor) -> torch.Tensor:
    """The axis is padded with zeros instead of ones to a multiple of four."""
    return torch.nn.functional.pad(x.float(), (0, 0, 0, -x.shape[1] % 4)).prod(1).to(x.dtype)


def sum_of_the_factors(x: torch.Tensor) -> torch.Tensor:
    """The sum."""
    return x.float().sum(1).to(x.dtype)


def one_and_the_sum(x: torch.Tensor) -> torch.Tensor:
    """One and the sum of what each factor is more than one: the product's first order."""
    return (1 + (x.float() - 1).sum(1)).to(x.dtype)


def magnitudes(x: torch.Tensor) -> torch.Tensor:
    """By logarithms of the magnitudes: the sign is lost."""
    return x.float().abs().log().sum(1).exp().to(x.dtype)


def logarithms_in_bfloat16(x: torch.Tensor) -> torch.Tensor:
    """By logarithms, which are kept in bfloat16."""
    negative = (x < 0).sum(1) % 2
    y = x.float().abs().log().bfloat16().float().sum(1).exp()
    return torch.where(negative > 0, -y, y).to(x.dtype)


def geometric_mean(x: torch.Tensor) -> torch.Tensor:
    """The root of order length of the product."""
    y = x.float().prod(1)
    return (y.abs() ** (1 / x.shape[1])).copysign(y).to(x.dtype)


def half_accumulators(x: torch.Tensor) -> torch.Tensor:
    """Partial products are kept in bfloat16, by eight lanes."""
    return _multiplied(x, torch.bfloat16, lanes=8).to(x.dtype)


def tf32_factors(x: torch.Tensor) -> torch.Tensor:
    """float32: factors pass through a TF32 unit."""
    return tf32(x).prod(1)


def other_axis(x: torch.Tensor) -> torch.Tensor:
    """The factors are taken as if the middle axis were the last one."""
    return x.reshape(x.shape[0], x.shape[2], x.shape[1]).float().prod(-1).to(x.dtype)


def one_column_of_another(x: torch.Tensor) -> torch.Tensor:
    """The last column is the first one's product."""
    y = x.float().prod(1)
    y[:, -1] = y[:, 0].clone()
    return y.to(x.dtype)


half_accumulators.dtypes = logarithms_in_bfloat16.dtypes = ("float32", "float16")
tf32_factors.dtypes = ("float32",)

HONEST = (warp_for_a_product, four_chains, in_blocks, in_double)
MUTANTS = (
    last_factor_lost, tail_lost, first_factor_twice, padded_with_zeros, sum_of_the_factors, one_and_the_sum, magnitudes,
    logarithms_in_bfloat16, geometric_mean, half_accumulators, tf32_factors, other_axis,
    one_column_of_another,
)  # fmt: skip
