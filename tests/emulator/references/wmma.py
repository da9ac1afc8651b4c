"""Tensor-core fragments."""

from __future__ import annotations

import torch
from description import integers, kernel, result, uniform
from torch import Tensor

from references.rounding import round_to_tf32

HALF = torch.float16
BF16 = torch.bfloat16


@kernel(
    "wmma/half_float",
    inputs=[uniform(48, 32, dtype=HALF), uniform(32, 32, dtype=HALF)],
    outputs=[result(48, 32, absolute=4e-5)],
    scalars=[48, 32, 32],
    because="tensor cores add exact products with a few bits less than float: 32 terms of at most 4",
)
def half_float(a: Tensor, b: Tensor) -> Tensor:
    return a.double() @ b.double()


@kernel(
    "wmma/half_epilogue",
    inputs=[
        integers(-2, 3, 64, 48, dtype=HALF),
        integers(-2, 3, 32, 48, dtype=HALF),
        integers(-9, 9, 64, 32, dtype=HALF),
    ],
    outputs=[result(64, 32, dtype=HALF)],
    scalars=[64, 32, 48],
    because="whole numbers below 2048: exact in half",
)
def half_epilogue(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    return (2 * a.double() @ b.double().T + c.double()).clamp(min=0)


@kernel(
    "wmma/bfloat16",
    inputs=[uniform(32, 48, dtype=BF16), uniform(8, 48, dtype=BF16)],
    outputs=[result(8, 32, absolute=5e-5), result(32, 8, absolute=5e-5)],
    scalars=[48],
    because="48 exact products of at most 4",
)
def bfloat16(tall: Tensor, flat: Tensor) -> tuple[Tensor, ...]:
    product = tall.double() @ flat.double().T + 1
    return product.T, product


@kernel(
    "wmma/tf32",
    inputs=[uniform(32, 40), uniform(40, 16)],
    outputs=[result(32, 16, absolute=5e-5)],
    scalars=[32, 16, 40],
    because="40 exact products of at most 4",
)
def tf32(a: Tensor, b: Tensor) -> Tensor:
    return round_to_tf32(a).double() @ round_to_tf32(b).double()


@kernel(
    "wmma/int8",
    inputs=[
        integers(-128, 128, 3, 16, 16, dtype=torch.int8),
        integers(-128, 128, 3, 16, 16, dtype=torch.int8),
        integers(0, 256, 3, 16, 16, dtype=torch.uint8),
        integers(0, 256, 3, 16, 16, dtype=torch.uint8),
    ],
    outputs=[result(16, 16, dtype=torch.int32), result(16, 16, dtype=torch.int32)],
    scalars=[3],
)
def int8(a: Tensor, b: Tensor, ua: Tensor, ub: Tensor) -> tuple[Tensor, ...]:
    signed = (a.long() @ b.long().transpose(1, 2)).sum(0)
    return signed - 100, (ua.long() @ ub.long().transpose(1, 2)).sum(0) - 100
