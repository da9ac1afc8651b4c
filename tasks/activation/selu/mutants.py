"""Variants of the scaled exponential linear unit: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import tf32
from robust_kbench.audit.truncation import truncated

ALPHA, SCALE = 1.6732632423543772, 1.0507009873554805


def _below_zero(x: torch.Tensor) -> torch.Tensor:
    return torch.expm1(x.float().clamp(max=0))


def _joined(x: torch.Tensor, below: torch.Tensor) -> torch.Tensor:
    return (SCALE * torch.where(x > 0, x.float(), below)).to(x.dtype)


def selected_then_scaled(x: torch.Tensor) -> torch.Tensor:
    """One scaling behind the selection, in float32."""
    return _joined(x, ALPHA * _below_zero(x))


def two_parts(x: torch.Tensor) -> torch.Tensor:
    """The sum of s max(x, 0) and s a expm1(min(x, 0)), with one constant for the product."""
    return (SCALE * x.float().clamp(min=0) + SCALE * ALPHA * _below_zero(x)).to(x.dtype)


def in_two_ranges(x: torch.Tensor) -> torch.Tensor:
    """A Taylor polynomial above minus one half, exp(x) - 1 below, where that does not cancel by much."""
    z = x.float().clamp(max=0)
    series = torch.ones_like(z)
    for power in range(10, 1, -1):
        series = 1 + z / power * series
    below = torch.where(z > -0.5, z * series, torch.exp(z) - 1)
    return torch.where(x > 0, SCALE * x.float(), SCALE * ALPHA * below).to(x.dtype)


def truncating_store(x: torch.Tensor) -> torch.Tensor:
    """Halves: the float32 result loses its low bits on the way out."""
    return truncated(SCALE * torch.where(x > 0, x.float(), ALPHA * _below_zero(x)), x.dtype)


def cancelling(x: torch.Tensor) -> torch.Tensor:
    """float32: exp(x) - 1 everywhere, which loses small values."""
    return _joined(x, ALPHA * (torch.exp(x.float()) - 1))


def both_branches(x: torch.Tensor) -> torch.Tensor:
    """Both branches are multiplied by zero or one, so that an exponential that overflows becomes NaN."""
    is_above = (x > 0).float()
    return (SCALE * (is_above * x.float() + (1 - is_above) * ALPHA * torch.expm1(x.float()))).to(x.dtype)


def not_scaled(x: torch.Tensor) -> torch.Tensor:
    """The scale is missing."""
    return torch.where(x > 0, x.float(), ALPHA * _below_zero(x)).to(x.dtype)


def scaled_above_alone(x: torch.Tensor) -> torch.Tensor:
    """Below zero the scale is missing."""
    return torch.where(x > 0, SCALE * x.float(), ALPHA * _below_zero(x)).to(x.dtype)


def without_alpha(x: torch.Tensor) -> torch.Tensor:
    """A scaled ELU with alpha = 1."""
    return _joined(x, _below_zero(x))


def short_alpha(x: torch.Tensor) -> torch.Tensor:
    """1.67 for alpha."""
    return _joined(x, 1.67 * _below_zero(x))


def short_scale(x: torch.Tensor) -> torch.Tensor:
    """1.0507 for the scale."""
    return (1.0507 * torch.where(x > 0, x.float(), ALPHA * _below_zero(x))).to(x.dtype)


def rectifier(x: torch.Tensor) -> torch.Tensor:
    """Zero below zero."""
    return _joined(x, torch.zeros_like(x, dtype=torch.float32))


def one_not_subtracted(x: torch.Tensor) -> torch.Tensor:
    """The exponential alone below zero."""
    return _joined(x, ALPHA * torch.exp(x.float().clamp(max=0)))


def celu(x: torch.Tensor) -> torch.Tensor:
    """As in CELU, x is divided by alpha in the exponent."""
    return _joined(x, ALPHA * torch.expm1(x.float().clamp(max=0) / ALPHA))


def saturated_at_four(x: torch.Tensor) -> torch.Tensor:
    """The limit below minus four."""
    return _joined(x, ALPHA * torch.where(x < -4, -1.0, _below_zero(x)))


def linear_below_a_tenth(x: torch.Tensor) -> torch.Tensor:
    """Alpha times the input itself above -0.1."""
    return _joined(x, ALPHA * torch.where(x > -0.1, x.float(), _below_zero(x)))


def coarse_exponential(x: torch.Tensor) -> torch.Tensor:
    """An exponential of eleven bits, less one."""
    return _joined(x, ALPHA * (tf32(torch.exp(x.float().clamp(max=0))) - 1))


def through_bfloat16(x: torch.Tensor) -> torch.Tensor:
    """The result passes through bfloat16."""
    return selected_then_scaled(x).bfloat16().to(x.dtype)


def sign_lost(x: torch.Tensor) -> torch.Tensor:
    """One minus the exponential."""
    return _joined(x, -ALPHA * _below_zero(x))


def last_column_passed_on(x: torch.Tensor) -> torch.Tensor:
    """The last column is x itself."""
    y = selected_then_scaled(x)
    y[:, -1:] = x[:, -1:]
    return y


cancelling.dtypes = short_scale.dtypes = ("float32",)
short_alpha.dtypes = through_bfloat16.dtypes = ("float32", "float16")

HONEST = (selected_then_scaled, two_parts, in_two_ranges, truncating_store)
MUTANTS = (
    cancelling,
    both_branches,
    not_scaled,
    scaled_above_alone,
    without_alpha,
    short_alpha,
    short_scale,
    rectifier,
    one_not_subtracted,
    celu,
    saturated_at_four,
    linear_below_a_tenth,
    coarse_exponential,
    through_bfloat16,
    sign_lost,
    last_column_passed_on,
)
