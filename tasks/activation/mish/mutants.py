"""Variants of mish: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import tf32
from robust_kbench.audit.truncation import truncated

LOG2_E = 1.4426950408889634


def _gate(x: torch.Tensor) -> torch.Tensor:
    """The fraction n / (n + 2) with n = e (e + 2) and e = exp(x), which is one from 20 on."""
    e = torch.exp(x.float().clamp(max=20))
    n = e * (e + 2)
    return n / (n + 2)


def one_exponential(x: torch.Tensor) -> torch.Tensor:
    """The tangent of the logarithm as a fraction, with the exponent bounded by 20."""
    return (x.float() * _gate(x)).to(x.dtype)


def small_exponentials(x: torch.Tensor) -> torch.Tensor:
    """Of exp(-|x|) only, so that nothing overflows."""
    e = torch.exp(-x.float().abs())
    above = torch.where(x > 0, 1 + 2 * e, e * (e + 2))
    return (x.float() * (above / (above + 2 * torch.where(x > 0, e * e, 1)))).to(x.dtype)


def powers_of_two(x: torch.Tensor) -> torch.Tensor:
    """The fraction with e as 2^t, t = x log2(e), and x multiplied before the division."""
    e = torch.exp2(x.float().clamp(max=20) * LOG2_E)
    n = e * (e + 2)
    return (x.float() * n / (n + 2)).to(x.dtype)


def literally(x: torch.Tensor) -> torch.Tensor:
    """The hyperbolic tangent of log1p(exp(x)), in float32."""
    soft = torch.where(x > 20, x.float(), torch.log1p(torch.exp(x.float().clamp(max=20))))
    return (x.float() * torch.tanh(soft)).to(x.dtype)


def truncating_store(x: torch.Tensor) -> torch.Tensor:
    """Halves: the float32 result loses its low bits on the way out."""
    return truncated(x.float() * _gate(x), x.dtype)


def overflowing(x: torch.Tensor) -> torch.Tensor:
    """The exponent is not bounded: infinity over infinity above 44."""
    e = torch.exp(x.float())
    n = e * (e + 2)
    return (x.float() * (n / (n + 2))).to(x.dtype)


def plain_logarithm(x: torch.Tensor) -> torch.Tensor:
    """log(1 + e) without log1p, which loses the result where x is very negative."""
    soft = torch.log(1 + torch.exp(x.float().clamp(max=20)))
    return (x.float() * torch.tanh(soft)).to(x.dtype)


def squared_sum(x: torch.Tensor) -> torch.Tensor:
    """((1 + e)^2 - 1) / ((1 + e)^2 + 1), which cancels where x is negative."""
    s = (1 + torch.exp(x.float().clamp(max=20))).square()
    return (x.float() * ((s - 1) / (s + 1))).to(x.dtype)


def swish(x: torch.Tensor) -> torch.Tensor:
    """The sigmoid for the tangent of the logarithm."""
    return (x.float() * torch.sigmoid(x.float())).to(x.dtype)


def no_logarithm(x: torch.Tensor) -> torch.Tensor:
    """The tangent of the exponential."""
    return (x.float() * torch.tanh(torch.exp(x.float()))).to(x.dtype)


def of_a_rectifier(x: torch.Tensor) -> torch.Tensor:
    """The tangent of max(x, 0)."""
    return (x.float() * torch.tanh(x.float().clamp(min=0))).to(x.dtype)


def gate_alone(x: torch.Tensor) -> torch.Tensor:
    """The product with x is missing."""
    return _gate(x).to(x.dtype)


def one_for_two(x: torch.Tensor) -> torch.Tensor:
    """The fraction is n / (n + 1)."""
    e = torch.exp(x.float().clamp(max=20))
    n = e * (e + 2)
    return (x.float() * (n / (n + 1))).to(x.dtype)


def base_two(x: torch.Tensor) -> torch.Tensor:
    """A power of two in place of the exponential."""
    e = torch.exp2(x.float().clamp(max=20))
    n = e * (e + 2)
    return (x.float() * (n / (n + 2))).to(x.dtype)


def passed_on_above_two(x: torch.Tensor) -> torch.Tensor:
    """The input itself above two, where the gate is 0.973."""
    return torch.where(x > 2, x, one_exponential(x))


def passed_on_above_four(x: torch.Tensor) -> torch.Tensor:
    """float32: the input itself above four, where the gate is 0.9994."""
    return torch.where(x > 4, x, one_exponential(x))


def cut_off(x: torch.Tensor) -> torch.Tensor:
    """Zero below minus eight."""
    return torch.where(x < -8, torch.zeros_like(x), one_exponential(x))


def of_the_magnitude(x: torch.Tensor) -> torch.Tensor:
    """The gate of |x|."""
    return (x.float() * _gate(x.abs())).to(x.dtype)


def coarse_reciprocal(x: torch.Tensor) -> torch.Tensor:
    """float32: the gate has ten bits, as of a reciprocal without a step of Newton's method."""
    return x * tf32(_gate(x))


def gate_in_bfloat16(x: torch.Tensor) -> torch.Tensor:
    """The gate is kept in bfloat16 before x is multiplied by it."""
    return (x.float() * _gate(x).bfloat16().float()).to(x.dtype)


def exponent_in_half(x: torch.Tensor) -> torch.Tensor:
    """The input passes through bfloat16 on its way to the exponential."""
    return (x.float() * _gate(x.bfloat16())).to(x.dtype)


def last_row_of_another(x: torch.Tensor) -> torch.Tensor:
    """The last row's gate is the first row's."""
    gate = _gate(x)
    gate[-1:] = gate[:1]
    return (x.float() * gate).to(x.dtype)


plain_logarithm.dtypes = squared_sum.dtypes = ("float32", "bfloat16")
passed_on_above_four.dtypes = coarse_reciprocal.dtypes = ("float32",)
gate_in_bfloat16.dtypes = exponent_in_half.dtypes = ("float32", "float16")

HONEST = (one_exponential, small_exponentials, powers_of_two, literally, truncating_store)
MUTANTS = (
    overflowing,
    plain_logarithm,
    squared_sum,
    swish,
    no_logarithm,
    of_a_rectifier,
    gate_alone,
    one_for_two,
    base_two,
    passed_on_above_two,
    passed_on_above_four,
    cut_off,
    of_the_magnitude,
    coarse_reciprocal,
    gate_in_bfloat16,
    exponent_in_half,
    last_row_of_another,
)
