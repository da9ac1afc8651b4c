"""Variants of softsign: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import tf32
from robust_kbench.audit.truncation import truncated


def division(x: torch.Tensor) -> torch.Tensor:
    """The formula in float32, rounded once."""
    return (x.float() / (1 + x.float().abs())).to(x.dtype)


def by_a_reciprocal(x: torch.Tensor) -> torch.Tensor:
    """As x times the reciprocal of 1 + |x|."""
    return (x.float() * (1 / (1 + x.float().abs()))).to(x.dtype)


def reciprocal_of_the_sum(x: torch.Tensor) -> torch.Tensor:
    """1 / (1 + 1 / |x|) with the sign of x, which is zero at zero."""
    return (1 / (1 + 1 / x.float().abs())).copysign(x.float()).to(x.dtype)


def newton(x: torch.Tensor) -> torch.Tensor:
    """A reciprocal of eleven bits, and two steps of Newton's method."""
    below = 1 + x.float().abs()
    estimate = tf32(1 / below)
    for _ in range(2):
        estimate = estimate + estimate * (1 - below * estimate)
    return (x.float() * estimate).to(x.dtype)


def truncating_store(x: torch.Tensor) -> torch.Tensor:
    """Halves: the float32 result loses its low bits on the way out."""
    return truncated(x.float() / (1 + x.float().abs()), x.dtype)


def cancelling(x: torch.Tensor) -> torch.Tensor:
    """float32: 1 - 1 / (1 + |x|) with the sign of x, which loses small values."""
    return (1 - 1 / (1 + x.float().abs())).copysign(x.float()).to(x.dtype)


def no_magnitude(x: torch.Tensor) -> torch.Tensor:
    """As x / (1 + x), which has a pole at -1."""
    return (x.float() / (1 + x.float())).to(x.dtype)


def of_the_square(x: torch.Tensor) -> torch.Tensor:
    """As x / (1 + x^2)."""
    return (x.float() / (1 + x.float().square())).to(x.dtype)


def root_of_the_square(x: torch.Tensor) -> torch.Tensor:
    """The inverse square root unit, x / sqrt(1 + x^2)."""
    return (x.float() * torch.rsqrt(1 + x.float().square())).to(x.dtype)


def hyperbolic(x: torch.Tensor) -> torch.Tensor:
    """The hyperbolic tangent."""
    return torch.tanh(x.float()).to(x.dtype)


def sign_lost(x: torch.Tensor) -> torch.Tensor:
    """The magnitude stands above as well."""
    return (x.float().abs() / (1 + x.float().abs())).to(x.dtype)


def saturated_at_thirty(x: torch.Tensor) -> torch.Tensor:
    """The sign beyond 30, where the truth is 0.968."""
    return torch.where(x.abs() > 30, x.sign(), division(x))


def linear_below_a_hundredth(x: torch.Tensor) -> torch.Tensor:
    """The input itself below 0.01."""
    return torch.where(x.abs() < 0.01, x, division(x))


def linear_below_a_tenth(x: torch.Tensor) -> torch.Tensor:
    """The input itself below 0.1."""
    return torch.where(x.abs() < 0.1, x, division(x))


def with_an_epsilon(x: torch.Tensor) -> torch.Tensor:
    """float32: 1e-5 is added to the denominator against a division by zero that cannot happen."""
    return x / (1 + x.abs() + 1e-5)


def coarse_reciprocal(x: torch.Tensor) -> torch.Tensor:
    """float32: the reciprocal has ten bits, as of a vector unit without a step of Newton's method."""
    return x * tf32(1 / (1 + x.abs()))


def denominator_in_bfloat16(x: torch.Tensor) -> torch.Tensor:
    """The denominator is kept in bfloat16."""
    return (x.float() / (1 + x.float().abs()).bfloat16().float()).to(x.dtype)


def denominator_of_another_row(x: torch.Tensor) -> torch.Tensor:
    """The last row is divided by the first row's denominators."""
    below = 1 + x.float().abs()
    below[-1:] = below[:1]
    return (x.float() / below).to(x.dtype)


def tail_passed_on(x: torch.Tensor) -> torch.Tensor:
    """Columns behind the last whole vector of four are copied."""
    whole = x.shape[-1] // 4 * 4
    return torch.cat((division(x[:, :whole]), x[:, whole:]), -1)


cancelling.dtypes = with_an_epsilon.dtypes = coarse_reciprocal.dtypes = ("float32",)
linear_below_a_hundredth.dtypes = denominator_in_bfloat16.dtypes = ("float32", "float16")

HONEST = (division, by_a_reciprocal, reciprocal_of_the_sum, newton, truncating_store)
MUTANTS = (
    cancelling,
    no_magnitude,
    of_the_square,
    root_of_the_square,
    hyperbolic,
    sign_lost,
    saturated_at_thirty,
    linear_below_a_hundredth,
    linear_below_a_tenth,
    with_an_epsilon,
    coarse_reciprocal,
    denominator_in_bfloat16,
    denominator_of_another_row,
    tail_passed_on,
)
