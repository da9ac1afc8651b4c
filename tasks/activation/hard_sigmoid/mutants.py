"""Variants of the hard sigmoid: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import tf32
from robust_kbench.audit.truncation import truncated


def _line(x: torch.Tensor, slope: float = 1 / 6, middle: float = 0.5) -> torch.Tensor:
    return (slope * x.float() + middle).clamp(0, 1)


def sixth_of_a_rectifier(x: torch.Tensor) -> torch.Tensor:
    """ReLU6(x + 3) / 6 in float32, as the source writes it."""
    return ((x.float() + 3).clamp(0, 6) / 6).to(x.dtype)


def two_constants(x: torch.Tensor) -> torch.Tensor:
    """As x times a sixth, plus one half."""
    return _line(x).to(x.dtype)


def fused_step(x: torch.Tensor) -> torch.Tensor:
    """The same by a fused multiplication and addition, with the float32 number next to a sixth."""
    sixth = float(torch.tensor(1 / 6))
    return (x.double() * sixth + 0.5).float().clamp(0, 1).to(x.dtype)


def truncating_store(x: torch.Tensor) -> torch.Tensor:
    """Halves: the float32 result loses its low bits on the way out."""
    return truncated((x.float() + 3).clamp(0, 6) / 6, x.dtype)


def slope_of_a_fifth(x: torch.Tensor) -> torch.Tensor:
    """A slope of 0.2, as in Keras 2 and ONNX."""
    return _line(x, 0.2).to(x.dtype)


def slope_of_a_quarter(x: torch.Tensor) -> torch.Tensor:
    """The tangent of the sigmoid at zero."""
    return _line(x, 0.25).to(x.dtype)


def short_slope(x: torch.Tensor) -> torch.Tensor:
    """float32: a slope of 0.1667."""
    return _line(x, 0.1667).to(x.dtype)


def middle_too_low(x: torch.Tensor) -> torch.Tensor:
    """One half is missing: the line starts at zero."""
    return (x.float().clamp(0, 6) / 6).to(x.dtype)


def middle_of_049(x: torch.Tensor) -> torch.Tensor:
    """0.49 for one half."""
    return _line(x, middle=0.49).to(x.dtype)


def open_above(x: torch.Tensor) -> torch.Tensor:
    """Not bounded by one."""
    return (x.float() / 6 + 0.5).clamp(min=0).to(x.dtype)


def open_below(x: torch.Tensor) -> torch.Tensor:
    """Not bounded by zero."""
    return (x.float() / 6 + 0.5).clamp(max=1).to(x.dtype)


def soft(x: torch.Tensor) -> torch.Tensor:
    """The sigmoid itself."""
    return torch.sigmoid(x.float()).to(x.dtype)


def of_the_magnitude(x: torch.Tensor) -> torch.Tensor:
    """The sign of x is lost."""
    return _line(x.abs()).to(x.dtype)


def of_the_opposite(x: torch.Tensor) -> torch.Tensor:
    """The line falls."""
    return _line(-x).to(x.dtype)


def times_the_input(x: torch.Tensor) -> torch.Tensor:
    """The hard swish."""
    return (x.float() * _line(x)).to(x.dtype)


def through_bfloat16(x: torch.Tensor) -> torch.Tensor:
    """The result passes through bfloat16."""
    return _line(x).bfloat16().to(x.dtype)


def through_tf32(x: torch.Tensor) -> torch.Tensor:
    """float32: the result passes through a TF32 register."""
    return tf32(_line(x))


def nan_lost(x: torch.Tensor) -> torch.Tensor:
    """Bounded by fminf and fmaxf, which give a bound for a NaN."""
    line = x.float() / 6 + 0.5
    return torch.fmax(torch.fmin(line, torch.ones(())), torch.zeros(())).to(x.dtype)


def last_row_of_another(x: torch.Tensor) -> torch.Tensor:
    """The last row is the first row's."""
    y = sixth_of_a_rectifier(x)
    y[-1:] = y[:1]
    return y


def last_column_passed_on(x: torch.Tensor) -> torch.Tensor:
    """The last column is x itself."""
    y = sixth_of_a_rectifier(x)
    y[:, -1:] = x[:, -1:]
    return y


short_slope.dtypes = through_tf32.dtypes = ("float32",)
through_bfloat16.dtypes = ("float32", "float16")

HONEST = (sixth_of_a_rectifier, two_constants, fused_step, truncating_store)
MUTANTS = (
    slope_of_a_fifth,
    slope_of_a_quarter,
    short_slope,
    middle_too_low,
    middle_of_049,
    open_above,
    open_below,
    soft,
    of_the_magnitude,
    of_the_opposite,
    times_the_input,
    through_bfloat16,
    through_tf32,
    nan_lost,
    last_row_of_another,
    last_column_passed_on,
)
