"""Variants of the hard swish: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import tf32
from robust_kbench.audit.truncation import truncated


def _gate(x: torch.Tensor, slope: float = 1 / 6, middle: float = 0.5) -> torch.Tensor:
    return (slope * x.float() + middle).clamp(0, 1)


def sixth_of_a_product(x: torch.Tensor) -> torch.Tensor:
    """As x ReLU6(x + 3) / 6 in float32, divided last."""
    return (x.float() * (x.float() + 3).clamp(0, 6) / 6).to(x.dtype)


def two_constants(x: torch.Tensor) -> torch.Tensor:
    """The gate as x times a sixth, plus one half."""
    return (x.float() * _gate(x)).to(x.dtype)


def fused_step(x: torch.Tensor) -> torch.Tensor:
    """The gate by a fused multiplication and addition, with the float32 number next to a sixth."""
    sixth = float(torch.tensor(1 / 6))
    return (x.float() * (x.double() * sixth + 0.5).float().clamp(0, 1)).to(x.dtype)


def three_pieces(x: torch.Tensor) -> torch.Tensor:
    """Zero below -3, x above 3, and a product in between; zero also of minus infinity."""
    wide = x.float()
    return torch.where(x <= -3, 0.0, torch.where(x >= 3, wide, wide * ((wide + 3) / 6))).to(x.dtype)


def truncating_store(x: torch.Tensor) -> torch.Tensor:
    """Halves: the float32 result loses its low bits on the way out."""
    return truncated(x.float() * ((x.float() + 3).clamp(0, 6) / 6), x.dtype)


def soft(x: torch.Tensor) -> torch.Tensor:
    """The swish itself."""
    return (x.float() * torch.sigmoid(x.float())).to(x.dtype)


def gate_alone(x: torch.Tensor) -> torch.Tensor:
    """The hard sigmoid: the product is missing."""
    return _gate(x).to(x.dtype)


def slope_of_a_fifth(x: torch.Tensor) -> torch.Tensor:
    """A slope of 0.2, as of other hard sigmoids."""
    return (x.float() * _gate(x, 0.2)).to(x.dtype)


def short_slope(x: torch.Tensor) -> torch.Tensor:
    """float32: a slope of 0.1667."""
    return x * _gate(x, 0.1667)


def middle_too_low(x: torch.Tensor) -> torch.Tensor:
    """The three is not added."""
    return (x.float() * (x.float().clamp(0, 6) / 6)).to(x.dtype)


def rectifier_of_six(x: torch.Tensor) -> torch.Tensor:
    """ReLU6 alone."""
    return x.clamp(0, 6)


def not_divided(x: torch.Tensor) -> torch.Tensor:
    """The six is missing."""
    return (x.float() * (x.float() + 3).clamp(0, 1)).to(x.dtype)


def open_above(x: torch.Tensor) -> torch.Tensor:
    """The gate is not bounded by one."""
    return (x.float() * (x.float() / 6 + 0.5).clamp(min=0)).to(x.dtype)


def open_below(x: torch.Tensor) -> torch.Tensor:
    """The gate is not bounded by zero."""
    return (x.float() * (x.float() / 6 + 0.5).clamp(max=1)).to(x.dtype)


def of_the_magnitude(x: torch.Tensor) -> torch.Tensor:
    """The gate of |x|."""
    return (x.float() * _gate(x.abs())).to(x.dtype)


def rectified(x: torch.Tensor) -> torch.Tensor:
    """Zero where x is negative."""
    return (x.float() * _gate(x)).clamp(min=0).to(x.dtype)


def bounded_by_six(x: torch.Tensor) -> torch.Tensor:
    """The result ends at six."""
    return (x.float() * _gate(x)).clamp(max=6).to(x.dtype)


def gate_in_bfloat16(x: torch.Tensor) -> torch.Tensor:
    """The gate is kept in bfloat16 before x is multiplied by it."""
    return (x.float() * _gate(x).bfloat16().float()).to(x.dtype)


def gate_in_tf32(x: torch.Tensor) -> torch.Tensor:
    """float32: the gate passes through a TF32 register."""
    return x * tf32(_gate(x))


def last_row_of_another(x: torch.Tensor) -> torch.Tensor:
    """The last row's gate is the first row's."""
    gate = _gate(x)
    gate[-1:] = gate[:1]
    return (x.float() * gate).to(x.dtype)


def last_column_passed_on(x: torch.Tensor) -> torch.Tensor:
    """The last column is x itself."""
    y = sixth_of_a_product(x)
    y[:, -1:] = x[:, -1:]
    return y


short_slope.dtypes = gate_in_tf32.dtypes = ("float32",)
gate_in_bfloat16.dtypes = ("float32", "float16")

HONEST = (sixth_of_a_product, two_constants, fused_step, three_pieces, truncating_store)
MUTANTS = (
    soft,
    gate_alone,
    slope_of_a_fifth,
    short_slope,
    middle_too_low,
    rectifier_of_six,
    not_divided,
    open_above,
    open_below,
    of_the_magnitude,
    rectified,
    bounded_by_six,
    gate_in_bfloat16,
    gate_in_tf32,
    last_row_of_another,
    last_column_passed_on,
)
