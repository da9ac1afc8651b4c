"""Variants of the rectifier: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import tf32


def selection(x: torch.Tensor) -> torch.Tensor:
    """Zero where x is negative, which a NaN is not."""
    return torch.where(x < 0, 0.0, x.float()).to(x.dtype)


def maximum(x: torch.Tensor) -> torch.Tensor:
    """By a maximum of float32 numbers that hands a NaN on."""
    return torch.maximum(x.float(), torch.zeros(())).to(x.dtype)


def product(x: torch.Tensor) -> torch.Tensor:
    """As x times the truth of x > 0; of an infinity below zero that is a NaN."""
    return x * (x > 0).to(x.dtype)


def halved_sum(x: torch.Tensor) -> torch.Tensor:
    """As (x + |x|) / 2 in float32, both of whose steps are exact."""
    return (0.5 * (x.float() + x.float().abs())).to(x.dtype)


def leaky(x: torch.Tensor) -> torch.Tensor:
    """A hundredth of what is negative passes."""
    return torch.where(x > 0, x.float(), 0.01 * x.float()).to(x.dtype)


def bounded_by_six(x: torch.Tensor) -> torch.Tensor:
    """The rectifier of MobileNet, which ends at six."""
    return x.clamp(0, 6)


def magnitude(x: torch.Tensor) -> torch.Tensor:
    """The sign is lost where the value should be."""
    return x.abs()


def negative_part(x: torch.Tensor) -> torch.Tensor:
    """The minimum with zero."""
    return x.clamp(max=0)


def above_a_thousandth(x: torch.Tensor) -> torch.Tensor:
    """Zero up to 1e-3, against noise."""
    return torch.where(x > 1e-3, x, torch.zeros_like(x))


def above_one(x: torch.Tensor) -> torch.Tensor:
    """The bound of the selection is one."""
    return torch.where(x < 1, torch.zeros_like(x), x)


def through_bfloat16(x: torch.Tensor) -> torch.Tensor:
    """The result passes through bfloat16."""
    return x.clamp(min=0).bfloat16().to(x.dtype)


def through_tf32(x: torch.Tensor) -> torch.Tensor:
    """The result passes through a TF32 register."""
    return tf32(x.clamp(min=0)).to(x.dtype)


def tail_passed_on(x: torch.Tensor) -> torch.Tensor:
    """Columns behind the last whole vector of four are copied."""
    whole = x.shape[-1] // 4 * 4
    return torch.cat((x[:, :whole].clamp(min=0), x[:, whole:]), -1)


def last_column_passed_on(x: torch.Tensor) -> torch.Tensor:
    """The last column is copied."""
    y = x.clamp(min=0)
    y[:, -1:] = x[:, -1:]
    return y


def sign_of_the_first_row(x: torch.Tensor) -> torch.Tensor:
    """In the last row, what is zero is decided by the first."""
    is_kept = x > 0
    is_kept[-1:] = is_kept[:1]
    return torch.where(is_kept, x, torch.zeros_like(x))


def nan_lost(x: torch.Tensor) -> torch.Tensor:
    """By fmaxf, which gives zero for a NaN."""
    return torch.fmax(x.float(), torch.zeros(())).to(x.dtype)


through_bfloat16.dtypes = ("float32", "float16")
through_tf32.dtypes = ("float32",)

HONEST = (selection, maximum, product, halved_sum)
MUTANTS = (
    leaky,
    bounded_by_six,
    magnitude,
    negative_part,
    above_a_thousandth,
    above_one,
    through_bfloat16,
    through_tf32,
    tail_passed_on,
    last_column_passed_on,
    sign_of_the_first_row,
    nan_lost,
)
