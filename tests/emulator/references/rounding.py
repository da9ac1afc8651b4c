"""Exact operations, rounded once to a narrower format: what a correctly rounded intrinsic returns."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import torch
from compiled import BFLOAT16, DOUBLE, DOWN, HALF, NEAREST, SINGLE, UP, ZERO
from torch import Tensor

FORMATS = {torch.float16: HALF, torch.bfloat16: BFLOAT16, torch.float32: SINGLE, torch.float64: DOUBLE}
DIRECTIONS = (NEAREST, ZERO, UP, DOWN)


def round_all(
    operation: Callable[..., Fraction], *operands: Tensor, dtype: torch.dtype, direction: str = NEAREST
) -> Tensor:
    """Apply an operation on exact fractions to every element. The operands must be finite."""
    columns = [[Fraction(value) for value in operand.double().flatten().tolist()] for operand in operands]
    results = [FORMATS[dtype].rounded(operation(*row), direction) for row in zip(*columns, strict=True)]
    return torch.tensor(results, dtype=torch.float64).view(operands[0].shape).to(dtype)


def round_to_tf32(x: Tensor) -> Tensor:
    """Round float32 to 11 bits of precision, halves away from zero as cvt.rna does; as float32."""
    return ((x.view(torch.int32) + 0x1000) & ~0x1FFF).view(torch.float32)
