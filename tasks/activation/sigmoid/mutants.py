"""Variants of the sigmoid: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import tf32
from robust_kbench.audit.truncation import truncated

LOG2_E = 1.4426950408889634


def division(x: torch.Tensor) -> torch.Tensor:
    """As 1 / (1 + exp(-x)) in float32."""
    return (1 / (1 + torch.exp(-x.float()))).to(x.dtype)


def small_exponentials(x: torch.Tensor) -> torch.Tensor:
    """Of exp(-|x|) only, so that nothing overflows: 1 / (1 + e) where x is positive, e / (1 + e) elsewhere."""
    e = torch.exp(-x.float().abs())
    return (torch.where(x > 0, 1.0, e) / (1 + e)).to(x.dtype)


def powers_of_two(x: torch.Tensor) -> torch.Tensor:
    """As 1 / (1 + 2^t) with t = -x log2(e), which is what a GPU has an instruction for."""
    return (1 / (1 + torch.exp2(x.float() * -LOG2_E))).to(x.dtype)


def truncating_store(x: torch.Tensor) -> torch.Tensor:
    """Halves: the float32 result loses its low bits on the way out."""
    return truncated(torch.sigmoid(x.float()), x.dtype)


def hard(x: torch.Tensor) -> torch.Tensor:
    """The hard sigmoid, a straight line between -3 and 3."""
    return (x.float() / 6 + 0.5).clamp(0, 1).to(x.dtype)


def algebraic(x: torch.Tensor) -> torch.Tensor:
    """By x / (1 + |x|) in place of the hyperbolic tangent."""
    half = 0.5 * x.float()
    return (0.5 + 0.5 * half / (1 + half.abs())).to(x.dtype)


def by_tanh(x: torch.Tensor) -> torch.Tensor:
    """As (1 + tanh(x / 2)) / 2 in float32, which cancels where x is very negative."""
    return (0.5 + 0.5 * torch.tanh(0.5 * x.float())).to(x.dtype)


def overflowing(x: torch.Tensor) -> torch.Tensor:
    """As e / (1 + e) with e = exp(x): NaN where e is infinite."""
    e = torch.exp(x.float())
    return (e / (1 + e)).to(x.dtype)


def of_the_opposite(x: torch.Tensor) -> torch.Tensor:
    """The sign in the exponent is missing."""
    return (1 / (1 + torch.exp(x.float()))).to(x.dtype)


def of_gelu(x: torch.Tensor) -> torch.Tensor:
    """Of 1.702 x."""
    return torch.sigmoid(1.702 * x.float()).to(x.dtype)


def base_two(x: torch.Tensor) -> torch.Tensor:
    """A power of two in place of the exponential."""
    return (1 / (1 + torch.exp2(-x.float()))).to(x.dtype)


def short_log2_e(x: torch.Tensor) -> torch.Tensor:
    """With exp by exp2, with log2(e) = 1.4427."""
    return (1 / (1 + torch.exp2(x.float() * -1.4427))).to(x.dtype)


def coarse_reciprocal(x: torch.Tensor) -> torch.Tensor:
    """The reciprocal has ten bits, as of a vector unit without a step of Newton's method."""
    return tf32(1 / (1 + torch.exp(-x.float()))).to(x.dtype)


def through_bfloat16(x: torch.Tensor) -> torch.Tensor:
    """The result passes through bfloat16."""
    return torch.sigmoid(x.float()).bfloat16().to(x.dtype)


def exponent_in_half(x: torch.Tensor) -> torch.Tensor:
    """The input passes through bfloat16 on its way to the exponential."""
    return (1 / (1 + torch.exp(-x.bfloat16().float()))).to(x.dtype)


def cut_off(x: torch.Tensor) -> torch.Tensor:
    """Zero below minus eight."""
    return torch.where(x < -8, torch.zeros_like(x), division(x))


def saturated_at_four(x: torch.Tensor) -> torch.Tensor:
    """One above four, where the truth is 0.982."""
    return torch.where(x > 4, torch.ones_like(x), division(x))


def of_the_magnitude(x: torch.Tensor) -> torch.Tensor:
    """The sigmoid of |x|."""
    return torch.sigmoid(x.float().abs()).to(x.dtype)


def last_row_of_another(x: torch.Tensor) -> torch.Tensor:
    """The last row is the first row's."""
    y = division(x)
    y[-1:] = y[:1]
    return y


short_log2_e.dtypes = coarse_reciprocal.dtypes = ("float32",)
by_tanh.dtypes = ("float32", "bfloat16")
through_bfloat16.dtypes = exponent_in_half.dtypes = ("float32", "float16")

HONEST = (division, small_exponentials, powers_of_two, truncating_store)
MUTANTS = (
    hard,
    algebraic,
    by_tanh,
    overflowing,
    of_the_opposite,
    of_gelu,
    base_two,
    short_log2_e,
    coarse_reciprocal,
    through_bfloat16,
    exponent_in_half,
    cut_off,
    saturated_at_four,
    of_the_magnitude,
    last_row_of_another,
)
