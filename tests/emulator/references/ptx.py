"""Inline PTX, and the pipelines and barriers that stand for it."""

from __future__ import annotations

import torch
from description import integers, kernel, result, uniform
from torch import Tensor

from references.rounding import round_to_tf32

INT = torch.int32
HALF = torch.float16
BF16 = torch.bfloat16
MASK = 0xFFFFFFFF


def _s32(x: Tensor) -> Tensor:
    return (x & MASK).to(INT)


@kernel(
    "ptx/cp_async_matmul",
    inputs=[uniform(32, 80), uniform(80, 48)],
    outputs=[result(32, 48, absolute=1e-4)],
    scalars=[32, 48, 80],
    because="80 terms of at most 4",
)
def cp_async_matmul(a: Tensor, b: Tensor) -> Tensor:
    return a.double() @ b.double()


@kernel(
    "ptx/mma_half",
    inputs=[uniform(32, 48, dtype=HALF), uniform(24, 48, dtype=HALF)],
    outputs=[result(32, 24, absolute=5e-5)],
    scalars=[32, 24, 48],
    because="48 exact products of at most 4",
)
def mma_half(a: Tensor, b: Tensor) -> Tensor:
    return a.double() @ b.double().T


@kernel(
    "ptx/mma_bfloat16",
    inputs=[uniform(32, 48, dtype=BF16), uniform(48, 24, dtype=BF16)],
    outputs=[result(32, 24, absolute=5e-5)],
    scalars=[32, 24, 48],
    because="48 exact products of at most 4",
)
def mma_bfloat16(a: Tensor, b: Tensor) -> Tensor:
    return a.double() @ b.double()


@kernel(
    "ptx/mma_tf32_int8",
    inputs=[
        uniform(16, 8),
        uniform(8, 8),
        integers(-128, 128, 16, 32, dtype=torch.int8),
        integers(-128, 128, 8, 32, dtype=torch.int8),
    ],
    outputs=[result(16, 8, absolute=1e-5), result(16, 8, dtype=INT)],
    because="8 exact products of at most 4",
)
def mma_tf32_int8(a: Tensor, b: Tensor, ia: Tensor, ib: Tensor) -> tuple[Tensor, ...]:
    start = torch.arange(16)[:, None] // 8 * 2 + torch.arange(8) % 2 + 1
    return round_to_tf32(a).double() @ round_to_tf32(b).double(), ia.long() @ ib.long().T + start


def _byte(x: Tensor, place: int) -> Tensor:
    return x >> 8 * place & 255


@kernel(
    "ptx/integer_instructions",
    inputs=[integers(-(1 << 31), 1 << 31, 95) for _ in range(3)],
    outputs=[result(95, 15, dtype=INT)],
    scalars=[95],
)
def integer_instructions(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    x, y, z = a.long() & MASK, b.long() & MASK, c.long() & MASK
    field = (x >> 7 & 511) - ((x >> 15 & 1) << 9)
    shift = z & 31
    rotated = torch.where(shift > 0, y << shift | x >> (32 - shift), y)
    low = x + y
    product = torch.tensor([p * q >> 32 for p, q in zip(x.tolist(), y.tolist(), strict=True)])
    columns = [x ^ y ^ z, (x & y) | (x & z) | (y & z), (x & y) | z]
    columns.append(_byte(x, 0) | _byte(x, 2) << 8 | _byte(y, 0) << 16 | _byte(y, 2) << 24)
    columns += [x >> 5 & 2047, field, (y & ~(0xFFF << 8)) | (x & 0xFFF) << 8, rotated, x * y + z, product]
    columns += [low, z + x + (low >> 32), torch.where(x < y, z + 1, x)]
    columns += [sum((x >> place & 1 for place in range(32)), torch.zeros_like(x)), torch.minimum(a, b).long()]
    return _s32(torch.stack(columns, 1))


@kernel(
    "ptx/loads_and_stores",
    inputs=[integers(-99, 99, 151, dtype=torch.float32)],
    outputs=[result(148), result(151)],
    scalars=[151],
    because="small whole numbers",
)
def loads_and_stores(x: Tensor) -> tuple[Tensor, ...]:
    following = torch.cat([x[1:], torch.ones(1)])
    return x[:148].view(37, 4).flip(1).flatten(), x + 2 * following - x.flip(0)


@kernel(
    "ptx/special_registers",
    inputs=[integers(0, 100, 3, 96)],
    outputs=[result(3, 96, 6, dtype=INT), result(1, dtype=INT)],
    scalars=[288],
)
def special_registers(x: Tensor) -> tuple[Tensor, ...]:
    thread = torch.arange(96)
    lane = thread % 32
    warps = x.view(3, 3, 32)
    ballot = ((warps > 50).long() << torch.arange(32)).sum(2).repeat_interleave(32, 1)
    neighbour = x[:, thread ^ 1] * 1000 + x.sum(1, keepdim=True)
    handed = torch.cat([x[:, :64].flip(1), torch.full((3, 32), 7)], 1)
    columns = [lane.expand_as(x), ((1 << lane) - 1).expand_as(x), ((2 << lane) - 1).expand_as(x), ballot]
    columns += [neighbour.long(), handed.long()]
    return _s32(torch.stack(columns, -1)), x.sum().view(1)


@kernel(
    "ptx/float_instructions",
    inputs=[uniform(115, low=0.1, high=4.0), uniform(115)],
    outputs=[
        result(115, 9, relative=2**-21, absolute=(1e-7, 1e-6, 0, 0, 0, 6e-4, 1e-6, 0, 0)),
        result(115, 3, dtype=INT),
    ],
    scalars=[115],
    because="documented: ex2 2 ulps, lg2 2^-22 absolute, tanh 2^-11 relative; conversions are exact",
)
def float_instructions(a: Tensor, b: Tensor) -> tuple[Tensor, ...]:
    x, y = a.double(), b.double()
    fifth = torch.arange(115) % 5 == 0
    columns = [y.exp2(), x.log2(), 1 / x, x.rsqrt(), x.sqrt(), y.tanh(), x * y + 1]
    columns += [torch.where(fifth, float("nan"), torch.minimum(x, y)), torch.where(fifth, x, torch.maximum(x, y))]
    packed = [_pack(a.to(dtype), b.to(dtype)) for dtype in (BF16, HALF)]
    return torch.stack(columns, 1), torch.stack([*packed, round_to_tf32(a).view(INT)], 1)


def _pack(high: Tensor, low: Tensor) -> Tensor:
    bits = [part.view(torch.int16).long() & 0xFFFF for part in (high, low)]
    return _s32(bits[0] << 16 | bits[1])


@kernel(
    "pipeline/primitives",
    inputs=[integers(-99, 99, 3, 640, dtype=torch.float32)],
    outputs=[result(3)],
    scalars=[3, 640],
    because="small whole numbers",
)
def primitives(x: Tensor) -> Tensor:
    return x.sum(1)


@kernel(
    "pipeline/cuda_pipeline",
    inputs=[integers(-99, 99, 2, 5, 64, dtype=torch.float32)],
    outputs=[result(2, 5, 64)],
    scalars=[2, 5],
    because="small multiples of a quarter",
)
def cuda_pipeline(x: Tensor) -> Tensor:
    return 0.25 * x.roll(1, 2) + 0.5 * x + 0.25 * x.roll(-1, 2)


@kernel(
    "pipeline/barrier",
    inputs=[integers(-99, 99, 3, 64)],
    outputs=[result(3, 64, dtype=INT)],
    scalars=[3, 5],
)
def barrier(x: Tensor) -> Tensor:
    for turn in range(5):
        x = 3 * x + x.roll(-turn - 1, 1)
    return x
