"""Variants of swish: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import tf32
from robust_kbench.audit.truncation import truncated

LOG2_E, LN_2 = 1.4426950408889634, 0.6931471805599453


def division(x: torch.Tensor) -> torch.Tensor:
    """As x / (1 + exp(-x)) in float32."""
    return (x.float() / (1 + torch.exp(-x.float()))).to(x.dtype)


def small_exponentials(x: torch.Tensor) -> torch.Tensor:
    """Of exp(-|x|) only, so that nothing overflows: x / (1 + e) where x is positive, x e / (1 + e) elsewhere."""
    e = torch.exp(-x.float().abs())
    return (x.float() * torch.where(x > 0, 1 / (1 + e), e / (1 + e))).to(x.dtype)


def powers_of_two(x: torch.Tensor) -> torch.Tensor:
    """As x / (1 + 2^t) with t = -x log2(e); what rounding t has cost is put back by a factor."""
    t = x.float() * -LOG2_E
    lost = (x.double() * -LOG2_E - t.double()).float()
    return (x.float() / (1 + torch.exp2(t) * (1 + lost * LN_2))).to(x.dtype)


def truncating_store(x: torch.Tensor) -> torch.Tensor:
    """Halves: the float32 result loses its low bits on the way out."""
    return truncated(x.float() * torch.sigmoid(x.float()), x.dtype)


def hard(x: torch.Tensor) -> torch.Tensor:
    """Hard swish: the sigmoid is a straight line between -3 and 3."""
    return (x.float() * (x.float() / 6 + 0.5).clamp(0, 1)).to(x.dtype)


def of_gelu(x: torch.Tensor) -> torch.Tensor:
    """With beta = 1.702 instead of one."""
    return (x.float() * torch.sigmoid(1.702 * x.float())).to(x.dtype)


def by_tanh(x: torch.Tensor) -> torch.Tensor:
    """As x / 2 * (1 + tanh(x / 2)) in float32, which cancels where x is very negative."""
    return (0.5 * x.float() * (1 + torch.tanh(0.5 * x.float()))).to(x.dtype)


def short_log2_e(x: torch.Tensor) -> torch.Tensor:
    """With exp by exp2, with log2(e) = 1.4427."""
    return (x.float() / (1 + torch.exp2(x.float() * -1.4427))).to(x.dtype)


def coarse_reciprocal(x: torch.Tensor) -> torch.Tensor:
    """The reciprocal has ten bits, as of a vector unit without a step of Newton's method."""
    return (x.float() * tf32(1 / (1 + torch.exp(-x.float())))).to(x.dtype)


def gate_in_bfloat16(x: torch.Tensor) -> torch.Tensor:
    """The sigmoid is kept in bfloat16 before x is multiplied by it."""
    return (x.float() * torch.sigmoid(x.float()).bfloat16().float()).to(x.dtype)


def exponent_in_half(x: torch.Tensor) -> torch.Tensor:
    """The input passes through bfloat16 on its way to the exponential."""
    return (x.float() / (1 + torch.exp(-x.bfloat16().float()))).to(x.dtype)


def cut_off(x: torch.Tensor) -> torch.Tensor:
    """Zero below minus eight."""
    return torch.where(x < -8, torch.zeros_like(x), division(x))


def of_the_magnitude(x: torch.Tensor) -> torch.Tensor:
    """The sigmoid of |x|."""
    return (x.float() * torch.sigmoid(x.float().abs())).to(x.dtype)


def last_row_of_another(x: torch.Tensor) -> torch.Tensor:
    """The last row's gate is the first row's."""
    gate = torch.sigmoid(x.float())
    gate[-1:] = gate[:1]
    return (x.float() * gate).to(x.dtype)


short_log2_e.dtypes = ("float32",)
exponent_in_half.dtypes = ("float32", "float16")
gate_in_bfloat16.dtypes = ("float32", "float16")
coarse_reciprocal.dtypes = ("float32",)
by_tanh.dtypes = ("float32", "bfloat16")

HONEST = (division, small_exponentials, powers_of_two, truncating_store)
MUTANTS = (
    hard,
    of_gelu,
    by_tanh,
    short_log2_e,
    coarse_reciprocal,
    gate_in_bfloat16,
    exponent_in_half,
    cut_off,
    of_the_magnitude,
    last_row_of_another,
)
