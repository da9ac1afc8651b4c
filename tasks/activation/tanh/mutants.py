"""Variants of the hyperbolic tangent: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import tf32
from robust_kbench.audit.truncation import truncated


def _odd(x: torch.Tensor, of_magnitude: torch.Tensor) -> torch.Tensor:
    return of_magnitude.copysign(x.float()).to(x.dtype)


def by_expm1(x: torch.Tensor) -> torch.Tensor:
    """As t / (t + 2) with t = exp(2|x|) - 1 from expm1, which keeps small values."""
    t = torch.expm1(2 * x.float().abs().clamp(max=20))
    return _odd(x, t / (t + 2))


def by_negative_expm1(x: torch.Tensor) -> torch.Tensor:
    """-t / (t + 2) with t = exp(-2|x|) - 1, which cannot overflow."""
    t = torch.expm1(-2 * x.float().abs())
    return _odd(x, -t / (t + 2))


def in_two_ranges(x: torch.Tensor) -> torch.Tensor:
    """A polynomial below 0.625, 1 - 2 / (exp(2|x|) + 1) above, as Cephes does."""
    z = x.float().abs()
    s = z * z
    series = (((-5.70498872745e-3 * s + 2.06390887954e-2) * s - 5.37397155531e-2) * s + 1.33314422036e-1) * s
    small = (series - 3.33332819422e-1) * s * z + z
    return _odd(x, torch.where(z < 0.625, small, 1 - 2 / (torch.exp(2 * z) + 1)))


def truncating_store(x: torch.Tensor) -> torch.Tensor:
    """Halves: the float32 result loses its low bits on the way out."""
    return truncated(torch.tanh(x.float()), x.dtype)


def cancelling(x: torch.Tensor) -> torch.Tensor:
    """1 - 2 / (exp(2x) + 1) everywhere, which loses small values."""
    return (1 - 2 / (torch.exp(2 * x.float()) + 1)).to(x.dtype)


def overflowing(x: torch.Tensor) -> torch.Tensor:
    """(e - 1) / (e + 1) with e = exp(2x): NaN where e is infinite."""
    e = torch.exp(2 * x.float())
    return ((e - 1) / (e + 1)).to(x.dtype)


def pade(x: torch.Tensor) -> torch.Tensor:
    """The fraction x (27 + x^2) / (27 + 9 x^2), kept within one."""
    s = x.float().square().clamp(max=1e6)
    return (x.float() * (27 + s) / (27 + 9 * s)).clamp(-1, 1).to(x.dtype)


def saturated_at_four(x: torch.Tensor) -> torch.Tensor:
    """One beyond four, where the truth is 0.9993."""
    return _odd(x, torch.where(x.float().abs() > 4, 1.0, torch.tanh(x.float().abs())))


def linear_below_an_eighth(x: torch.Tensor) -> torch.Tensor:
    """The input itself below one eighth."""
    return torch.where(x.abs() < 0.125, x, torch.tanh(x.float()).to(x.dtype))


def linear_below_a_hundredth(x: torch.Tensor) -> torch.Tensor:
    """The input itself below 0.01."""
    return torch.where(x.abs() < 0.01, x, torch.tanh(x.float()).to(x.dtype))


def hardware_unit(x: torch.Tensor) -> torch.Tensor:
    """The instruction tanh.approx: eleven bits."""
    return tf32(torch.tanh(x.float())).to(x.dtype)


def short_series(x: torch.Tensor) -> torch.Tensor:
    """As x - x^3 / 3 + 2 x^5 / 15 below one half."""
    z = x.float()
    series = z - z**3 / 3 + z**5 * (2 / 15)
    return torch.where(z.abs() < 0.5, series, torch.tanh(z)).to(x.dtype)


def through_bfloat16(x: torch.Tensor) -> torch.Tensor:
    """The result passes through bfloat16."""
    return torch.tanh(x.float()).bfloat16().to(x.dtype)


def sign_lost(x: torch.Tensor) -> torch.Tensor:
    """The magnitude's tangent keeps no sign."""
    return torch.tanh(x.float().abs()).to(x.dtype)


def infinity_is_nan(x: torch.Tensor) -> torch.Tensor:
    """As t / (t + 2) with t = exp(2|x|) - 1 that is not bounded: NaN beyond 44."""
    t = torch.expm1(2 * x.float().abs())
    return _odd(x, t / (t + 2))


linear_below_a_hundredth.dtypes = ("float32",)
cancelling.dtypes = ("float32",)
saturated_at_four.dtypes = ("float32", "float16")
short_series.dtypes = ("float32", "float16")
hardware_unit.dtypes = ("float32",)
through_bfloat16.dtypes = ("float32", "float16")

HONEST = (by_expm1, by_negative_expm1, in_two_ranges, truncating_store)
MUTANTS = (
    cancelling,
    overflowing,
    pade,
    saturated_at_four,
    linear_below_an_eighth,
    linear_below_a_hundredth,
    hardware_unit,
    short_series,
    through_bfloat16,
    sign_lost,
    infinity_is_nan,
)
