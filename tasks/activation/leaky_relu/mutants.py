"""Variants of the leaky rectifier: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import tf32
from robust_kbench.audit.truncation import truncated

SLOPE = 0.01


def _leaky(x: torch.Tensor, slope: float) -> torch.Tensor:
    return torch.where(x > 0, x.float(), slope * x.float()).to(x.dtype)


def larger_of_two(x: torch.Tensor) -> torch.Tensor:
    """The maximum of x and 0.01 x."""
    return torch.maximum(x.float(), SLOPE * x.float()).to(x.dtype)


def two_rectifiers(x: torch.Tensor) -> torch.Tensor:
    """The positive part less 0.01 times the negative one."""
    return (torch.relu(x.float()) - SLOPE * torch.relu(-x.float())).to(x.dtype)


def selected_factor(x: torch.Tensor) -> torch.Tensor:
    """A factor of one or 0.01, then one product."""
    return (x.float() * torch.where(x > 0, 1.0, SLOPE)).to(x.dtype)


def truncating_store(x: torch.Tensor) -> torch.Tensor:
    """Halves: the float32 result loses its low bits on the way out."""
    return truncated(torch.where(x > 0, x.float(), SLOPE * x.float()), x.dtype)


def slope_of_a_tenth(x: torch.Tensor) -> torch.Tensor:
    """A slope of 0.1."""
    return _leaky(x, 0.1)


def slope_of_gat(x: torch.Tensor) -> torch.Tensor:
    """A slope of 0.2, as in graph attention and in many generators."""
    return _leaky(x, 0.2)


def slope_by_a_shift(x: torch.Tensor) -> torch.Tensor:
    """A slope of 1/128, which is a change of the exponent."""
    return _leaky(x, 2.0**-7)


def slope_in_bfloat16(x: torch.Tensor) -> torch.Tensor:
    """The slope is a bfloat16 number, 0.01001."""
    return _leaky(x, 0.010009765625)


def no_slope(x: torch.Tensor) -> torch.Tensor:
    """The plain rectifier."""
    return x.clamp(min=0)


def slope_above_zero(x: torch.Tensor) -> torch.Tensor:
    """The branches are exchanged."""
    return torch.where(x > 0, SLOPE * x.float(), x.float()).to(x.dtype)


def smaller_of_two(x: torch.Tensor) -> torch.Tensor:
    """The minimum of x and 0.01 x."""
    return torch.minimum(x.float(), SLOPE * x.float()).to(x.dtype)


def sign_lost(x: torch.Tensor) -> torch.Tensor:
    """What leaks is positive."""
    return torch.where(x > 0, x.float(), SLOPE * x.float().abs()).to(x.dtype)


def bounded(x: torch.Tensor) -> torch.Tensor:
    """Ends at six."""
    return _leaky(x, SLOPE).clamp(max=6)


def through_bfloat16(x: torch.Tensor) -> torch.Tensor:
    """The result passes through bfloat16."""
    return _leaky(x, SLOPE).bfloat16().to(x.dtype)


def through_tf32(x: torch.Tensor) -> torch.Tensor:
    """float32: the result passes through a TF32 register."""
    return tf32(_leaky(x, SLOPE))


def tail_passed_on(x: torch.Tensor) -> torch.Tensor:
    """Columns behind the last whole vector of four are copied."""
    whole = x.shape[-1] // 4 * 4
    return torch.cat((_leaky(x[:, :whole], SLOPE), x[:, whole:]), -1)


def sign_of_the_first_row(x: torch.Tensor) -> torch.Tensor:
    """In the last row, what leaks is decided by the first."""
    is_kept = x > 0
    is_kept[-1:] = is_kept[:1]
    return torch.where(is_kept, x.float(), SLOPE * x.float()).to(x.dtype)


slope_in_bfloat16.dtypes = through_tf32.dtypes = ("float32",)
through_bfloat16.dtypes = ("float32", "float16")

HONEST = (larger_of_two, two_rectifiers, selected_factor, truncating_store)
MUTANTS = (
    slope_of_a_tenth,
    slope_of_gat,
    slope_by_a_shift,
    slope_in_bfloat16,
    no_slope,
    slope_above_zero,
    smaller_of_two,
    sign_lost,
    bounded,
    through_bfloat16,
    through_tf32,
    tail_passed_on,
    sign_of_the_first_row,
)
