"""Rounding to the next lower precision, as an implementation does that saves time where it must not."""

from __future__ import annotations

import torch

_MANTISSA_BITS = {torch.float64: 23, torch.float32: 10, torch.float16: 7, torch.bfloat16: 3}
"""Kept: float32 of float64, TF32 of float32, bfloat16's of float16, E4M3's of bfloat16."""


def lower(values: torch.Tensor) -> torch.Tensor:
    """The values rounded to nearest, ties to even, to the mantissa of the next lower precision; the range is kept.

    NaN and infinities stay what they are. Raises KeyError for dtypes other than the four floating-point ones.
    """
    kept = _MANTISSA_BITS[values.dtype]
    fraction, exponent = torch.frexp(values.double())
    rounded = torch.ldexp(torch.round(torch.ldexp(fraction, torch.tensor(kept + 1))), exponent - (kept + 1))
    return torch.where(values.isfinite(), rounded, values.double()).to(values.dtype)
