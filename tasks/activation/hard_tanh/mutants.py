"""Variants of the hard hyperbolic tangent: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import tf32


def two_bounds(x: torch.Tensor) -> torch.Tensor:
    """Maximum, then minimum, of float32 numbers."""
    return torch.minimum(torch.maximum(x.float(), torch.tensor(-1.0)), torch.tensor(1.0)).to(x.dtype)


def selections(x: torch.Tensor) -> torch.Tensor:
    """By two comparisons, both of which are false of a NaN."""
    return torch.where(x > 1, 1.0, torch.where(x < -1, -1.0, x.float())).to(x.dtype)


def magnitude_and_sign(x: torch.Tensor) -> torch.Tensor:
    """The magnitude is bounded, and the sign put back."""
    return x.abs().clamp(max=1).copysign(x)


def positive_bounds(x: torch.Tensor) -> torch.Tensor:
    """Between 0 and 1."""
    return x.clamp(0, 1)


def bounds_of_two(x: torch.Tensor) -> torch.Tensor:
    """Between -2 and 2."""
    return x.clamp(-2, 2)


def open_above(x: torch.Tensor) -> torch.Tensor:
    """Not bounded from above."""
    return x.clamp(min=-1)


def open_below(x: torch.Tensor) -> torch.Tensor:
    """Not bounded from below."""
    return x.clamp(max=1)


def bounds_not_reached(x: torch.Tensor) -> torch.Tensor:
    """Bounds of 0.996, the number before one in a narrower format."""
    return x.clamp(-0.99609375, 0.99609375)


def soft(x: torch.Tensor) -> torch.Tensor:
    """The hyperbolic tangent itself."""
    return torch.tanh(x.float()).to(x.dtype)


def signs(x: torch.Tensor) -> torch.Tensor:
    """The sign of x."""
    return x.sign()


def sign_lost(x: torch.Tensor) -> torch.Tensor:
    """The bounded magnitude."""
    return x.abs().clamp(max=1)


def zero_outside(x: torch.Tensor) -> torch.Tensor:
    """What is out of bounds becomes zero, as in the gradient."""
    return torch.where(x.abs() <= 1, x, torch.zeros_like(x))


def by_two_magnitudes(x: torch.Tensor) -> torch.Tensor:
    """float32: (|x + 1| - |x - 1|) / 2, whose sums round."""
    return 0.5 * ((x + 1).abs() - (x - 1).abs())


def through_bfloat16(x: torch.Tensor) -> torch.Tensor:
    """The result passes through bfloat16."""
    return x.clamp(-1, 1).bfloat16().to(x.dtype)


def through_tf32(x: torch.Tensor) -> torch.Tensor:
    """float32: the result passes through a TF32 register."""
    return tf32(x.clamp(-1, 1))


def nan_lost(x: torch.Tensor) -> torch.Tensor:
    """Bounded by fminf and fmaxf, which give a bound for a NaN."""
    return torch.fmax(torch.fmin(x.float(), torch.ones(())), -torch.ones(())).to(x.dtype)


def tail_passed_on(x: torch.Tensor) -> torch.Tensor:
    """Columns behind the last whole vector of four are copied."""
    whole = x.shape[-1] // 4 * 4
    return torch.cat((x[:, :whole].clamp(-1, 1), x[:, whole:]), -1)


def last_row_of_another(x: torch.Tensor) -> torch.Tensor:
    """The last row is the first row's."""
    y = x.clamp(-1, 1)
    y[-1:] = y[:1]
    return y


by_two_magnitudes.dtypes = through_tf32.dtypes = ("float32",)
through_bfloat16.dtypes = ("float32", "float16")

HONEST = (two_bounds, selections, magnitude_and_sign)
MUTANTS = (
    positive_bounds,
    bounds_of_two,
    open_above,
    open_below,
    bounds_not_reached,
    soft,
    signs,
    sign_lost,
    zero_outside,
    by_two_magnitudes,
    through_bfloat16,
    through_tf32,
    nan_lost,
    tail_passed_on,
    last_row_of_another,
)
