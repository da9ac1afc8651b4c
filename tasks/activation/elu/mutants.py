"""Variants of the exponential linear unit: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import tf32
from robust_kbench.audit.truncation import truncated


def _below_zero(x: torch.Tensor) -> torch.Tensor:
    return torch.expm1(x.float().clamp(max=0))


def _joined(x: torch.Tensor, below: torch.Tensor) -> torch.Tensor:
    return torch.where(x > 0, x.float(), below).to(x.dtype)


def two_parts(x: torch.Tensor) -> torch.Tensor:
    """max(x, 0) plus expm1 of min(x, 0), in float32."""
    return (x.float().clamp(min=0) + _below_zero(x)).to(x.dtype)


def in_two_ranges(x: torch.Tensor) -> torch.Tensor:
    """A Taylor polynomial above minus one half, exp(x) - 1 below, where that does not cancel by much."""
    z = x.float().clamp(max=0)
    series = torch.ones_like(z)
    for power in range(10, 1, -1):
        series = 1 + z / power * series
    return _joined(x, torch.where(z > -0.5, z * series, torch.exp(z) - 1))


def through_the_logarithm(x: torch.Tensor) -> torch.Tensor:
    """As (u - 1) * x / log(u) with u = exp(x) (Kahan): what rounding u has cost cancels in the fraction."""
    z = x.float().clamp(max=0)
    u = torch.exp(z.clamp(min=-20))
    fraction = torch.where(u == 1, z, (u - 1) * (z / u.log()))
    return _joined(x, torch.where(z < -20, -1.0, fraction))


def truncating_store(x: torch.Tensor) -> torch.Tensor:
    """Halves: the float32 result loses its low bits on the way out."""
    return truncated(torch.where(x > 0, x.float(), _below_zero(x)), x.dtype)


def cancelling(x: torch.Tensor) -> torch.Tensor:
    """float32: exp(x) - 1 everywhere, which loses small values."""
    return _joined(x, torch.exp(x.float()) - 1)


def both_branches(x: torch.Tensor) -> torch.Tensor:
    """Both branches are multiplied by zero or one, so that an exponential that overflows becomes NaN."""
    is_above = (x > 0).float()
    return (is_above * x.float() + (1 - is_above) * torch.expm1(x.float())).to(x.dtype)


def of_selu(x: torch.Tensor) -> torch.Tensor:
    """With the alpha of SELU, 1.6733."""
    return _joined(x, 1.6732632423543772 * _below_zero(x))


def small_alpha(x: torch.Tensor) -> torch.Tensor:
    """With alpha = 0.9."""
    return _joined(x, 0.9 * _below_zero(x))


def rectifier(x: torch.Tensor) -> torch.Tensor:
    """Zero below zero."""
    return x.clamp(min=0)


def one_not_subtracted(x: torch.Tensor) -> torch.Tensor:
    """The exponential alone below zero."""
    return _joined(x, torch.exp(x.float().clamp(max=0)))


def base_two(x: torch.Tensor) -> torch.Tensor:
    """A power of two in place of the exponential."""
    return _joined(x, torch.exp2(x.float().clamp(max=0)) - 1)


def saturated_at_four(x: torch.Tensor) -> torch.Tensor:
    """Minus one below minus four, where the truth is -0.982."""
    return _joined(x, torch.where(x < -4, -1.0, _below_zero(x)))


def linear_below_a_tenth(x: torch.Tensor) -> torch.Tensor:
    """The input itself above -0.1."""
    return _joined(x, torch.where(x > -0.1, x.float(), _below_zero(x)))


def linear_below_a_hundredth(x: torch.Tensor) -> torch.Tensor:
    """The input itself above -0.01."""
    return _joined(x, torch.where(x > -0.01, x.float(), _below_zero(x)))


def short_series(x: torch.Tensor) -> torch.Tensor:
    """As x + x^2 / 2 above -0.25."""
    z = x.float()
    return _joined(x, torch.where(z > -0.25, z + 0.5 * z * z, _below_zero(x)))


def coarse_exponential(x: torch.Tensor) -> torch.Tensor:
    """An exponential of eleven bits, less one."""
    return _joined(x, tf32(torch.exp(x.float().clamp(max=0))) - 1)


def through_bfloat16(x: torch.Tensor) -> torch.Tensor:
    """What is negative passes through bfloat16."""
    return _joined(x, _below_zero(x).bfloat16().float())


def sign_lost(x: torch.Tensor) -> torch.Tensor:
    """One minus the exponential."""
    return _joined(x, -_below_zero(x))


def last_column_passed_on(x: torch.Tensor) -> torch.Tensor:
    """The last column is x itself."""
    y = two_parts(x)
    y[:, -1:] = x[:, -1:]
    return y


cancelling.dtypes = ("float32",)
linear_below_a_hundredth.dtypes = short_series.dtypes = through_bfloat16.dtypes = ("float32", "float16")

HONEST = (two_parts, in_two_ranges, through_the_logarithm, truncating_store)
MUTANTS = (
    cancelling,
    both_branches,
    of_selu,
    small_alpha,
    rectifier,
    one_not_subtracted,
    base_two,
    saturated_at_four,
    linear_below_a_tenth,
    linear_below_a_hundredth,
    short_series,
    coarse_exponential,
    through_bfloat16,
    sign_lost,
    last_column_passed_on,
)
