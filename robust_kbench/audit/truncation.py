"""A store that drops the low bits instead of rounding: an honest one wherever a unit in the last place is allowed."""

from __future__ import annotations

import torch


def truncated(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """float32 `x` as `dtype`, rounded towards zero; NaN, infinities and what overflows `dtype` are not changed."""
    nearest = x.to(dtype)
    if dtype == torch.float32:
        return nearest
    is_beyond = (nearest.float().abs() > x.abs()) & nearest.isfinite()
    towards_zero = (nearest.view(torch.int16) - 1).view(dtype)  # magnitude and sign: one less is the one before
    return torch.where(is_beyond, towards_zero, nearest)
