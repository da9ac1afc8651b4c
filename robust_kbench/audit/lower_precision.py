"""Rounding to the next lower precision, as an implementation does that saves time where it must not."""

from __future__ import annotations

import torch

from robust_kbench.cases.contract import rounding
from robust_kbench.oracle.digits import rounded
from robust_kbench.schema.task import Precision

_NEXT = {53: 24, 24: 11, 11: 8, 8: 4, 4: 2}
"""Significant digits: float64, float32, float16 and TF32, bfloat16, E4M3, E2M1."""
_DIGITS = {torch.float64: 53, torch.float32: 24, torch.float16: 11, torch.bfloat16: 8}


def lower(values: torch.Tensor, precision: Precision = "ieee") -> torch.Tensor:
    """The values in the format below what the contract allows in their dtype; the range is kept.

    NaN and infinities stay what they are. Raises KeyError for dtypes other than the four floating-point ones.
    """
    dtype = str(values.dtype).removeprefix("torch.")
    allowed = rounding(precision, dtype).factor_digits or _DIGITS[values.dtype]
    return rounded(values, _NEXT[min(allowed, _DIGITS[values.dtype])])
