"""Integer intrinsics."""

from __future__ import annotations

from collections.abc import Callable

import torch
from description import given, integers, kernel, result
from torch import Tensor

INT = torch.int32
LONG = torch.int64
MASK = 0xFFFFFFFF

Column = Callable[..., int]


def _signed(value: int, bits: int = 32) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def _table(columns: list[Column], *operands: Tensor, bits: int = 32) -> Tensor:
    """Every column's function on every row of operands, wrapped to a signed integer."""
    rows = zip(*(operand.tolist() for operand in operands), strict=True)
    return torch.tensor([[_signed(column(*row), bits) for column in columns] for row in rows])


def _reverse(value: int, bits: int) -> int:
    return int(f"{value & ((1 << bits) - 1):0{bits}b}"[::-1], 2)


def _leading_zeros(value: int, bits: int) -> int:
    return bits - (value & ((1 << bits) - 1)).bit_length()


def _first_set(value: int) -> int:
    return (value & -value).bit_length()


def _remainder(value: int, by: int) -> int:
    """C's: with the sign of the dividend."""
    return abs(value) % abs(by) * (-1 if value < 0 else 1)


def _quotient(value: int, by: int) -> int:
    return abs(value) // abs(by) * (-1 if (value < 0) != (by < 0) else 1)


_EDGES = torch.tensor([0, 1, -1, 2, -2, 7, 1 << 30, -(1 << 30), (1 << 31) - 1, -(1 << 31), 0x0F0F0F0F, 255, 256])
_WIDE_EDGES = torch.tensor([0, 1, -1, 1 << 32, -(1 << 32), 1 << 62, -(1 << 62), 12345678901234, -5, 1 << 31, 3, 6, 96])


def _mixed(generator: torch.Generator) -> Tensor:
    return torch.cat([_EDGES.to(INT), integers(-(1 << 31), 1 << 31, 80)(generator)])


def _wide_mixed(generator: torch.Generator) -> Tensor:
    return torch.cat([_WIDE_EDGES, integers(-(1 << 62), 1 << 62, 80, dtype=LONG)(generator)])


@kernel(
    "integers/bits",
    inputs=[_mixed, _wide_mixed],
    outputs=[result(93, 8, dtype=INT), result(93, 2, dtype=LONG)],
    scalars=[93],
)
def bits(x: Tensor, wide: Tensor) -> tuple[Tensor, ...]:
    narrow: list[Column] = [
        lambda a, w: (a & MASK).bit_count(),
        lambda a, w: _leading_zeros(a, 32),
        lambda a, w: _first_set(a),
        lambda a, w: _reverse(a, 32),
        lambda a, w: (w & (1 << 64) - 1).bit_count(),
        lambda a, w: _leading_zeros(w, 64),
        lambda a, w: _first_set(w),
        lambda a, w: abs(_quotient(a, 4)) + _remainder(max(a, 3), 1000) - _remainder(min(a, 5), 1000),
    ]
    longs: list[Column] = [lambda w: _reverse(w, 64), lambda w: abs(_quotient(w, 4)) + max(w, 7) // 2]
    return _table(narrow, x, wide), _table(longs, wide, bits=64)


def _byte(value: int, place: int) -> int:
    return value >> 8 * place & 255


def _permute(x: int, y: int, selector: int) -> int:
    both = (y & MASK) << 32 | (x & MASK)
    return sum(_byte(both, selector >> 4 * k & 7) << 8 * k for k in range(4))


def _per_byte(operation: Column, x: int, y: int) -> int:
    return sum((operation(_byte(x, k), _byte(y, k)) & 255) << 8 * k for k in range(4))


def _signed_bytes(value: int) -> list[int]:
    return [_signed(_byte(value, k), 8) for k in range(4)]


def _signed_halves(value: int) -> list[int]:
    return [_signed(value & 0xFFFF, 16), _signed(value >> 16 & 0xFFFF, 16)]


def _dot(left: list[int], right: list[int]) -> int:
    return sum(a * b for a, b in zip(left, right, strict=True))


def _funnel(low: int, high: int) -> int:
    return (high & MASK) << 32 | (low & MASK)


@kernel(
    "integers/bytes",
    inputs=[_mixed, lambda generator: _mixed(generator).flip(0)],
    outputs=[result(93, 14, dtype=INT)],
    scalars=[93],
)
def byte_operations(x: Tensor, y: Tensor) -> Tensor:
    columns: list[Column] = [
        lambda a, b, i: _permute(a, b, 0x5410),
        lambda a, b, i: _permute(a, b, 0x0123),
        lambda a, b, i: _permute(a, b, b & 0x7777),
        lambda a, b, i: _dot(_signed_bytes(a), _signed_bytes(b)) + 1000,
        lambda a, b, i: sum(_byte(a, k) * _byte(b, k) for k in range(4)) + 7,
        lambda a, b, i: _dot(_signed_halves(a), _signed_bytes(b)[:2]) - 5,
        lambda a, b, i: _dot(_signed_halves(a), _signed_bytes(b)[2:]) + 5,
        lambda a, b, i: _funnel(a, b) << i % 32 >> 32,
        lambda a, b, i: _funnel(a, b) >> i % 32,
        lambda a, b, i: _funnel(a, b) << min(i, 32) >> 32,
        lambda a, b, i: _per_byte(lambda p, q: p + q, a, b),
        lambda a, b, i: _per_byte(lambda p, q: abs(p - q), a, b),
        lambda a, b, i: _per_byte(lambda p, q: max(_signed(p, 8), _signed(q, 8)), a, b),
        lambda a, b, i: _per_byte(lambda p, q: 255 if p > q else 0, a, b),
    ]
    return _table(columns, x, y, torch.arange(93))


@kernel(
    "integers/products",
    inputs=[_mixed, lambda generator: _mixed(generator).flip(0), _wide_mixed],
    outputs=[result(93, 8, dtype=INT), result(93, 3, dtype=LONG)],
    scalars=[93],
)
def products(x: Tensor, y: Tensor, wide: Tensor) -> tuple[Tensor, ...]:
    narrow: list[Column] = [
        lambda a, b: a * b >> 32,
        lambda a, b: (a & MASK) * (b & MASK) >> 32,
        lambda a, b: _remainder(a, 4096) * _remainder(b, 2048),
        lambda a, b: (a & 0xFFFF) * (b & 0xFFFF),
        lambda a, b: abs(a - b) + 10,
        lambda a, b: abs((a & MASK) - (b & MASK)) + 10,
        lambda a, b: (a + b) >> 1,
        lambda a, b: ((a & MASK) + (b & MASK) + 1) >> 1,
    ]
    longs: list[Column] = [
        lambda a, b, w: w * (a * 1000003) >> 64,
        lambda a, b, w: (w & (1 << 64) - 1) * 0x9E3779B97F4A7C15 >> 64,
        lambda a, b, w: a * b,
    ]
    return _table(narrow, x, y), _table(longs, x, y, wide, bits=64)


def _murmur(h: int) -> int:
    h &= MASK
    h ^= h >> 16
    h = h * 0x85EBCA6B & MASK
    h ^= h >> 13
    h = h * 0xC2B2AE35 & MASK
    return h ^ h >> 16


@kernel(
    "integers/arithmetic",
    inputs=[
        given(torch.cat([_EDGES[:9], _EDGES[10:]]).to(INT).repeat(8)[:93]),
        integers(-1000, 1000, 93),
    ],
    outputs=[result(93, 8, dtype=INT), result(93, 2, dtype=torch.uint8)],
    scalars=[93],
)
def arithmetic(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
    odd = y | 1
    columns: list[Column] = [
        _quotient,
        _remainder,
        lambda a, b: a >> 5,
        lambda a, b: (a & MASK) >> 5,
        lambda a, b: a * 2654435761,
        lambda a, b: _murmur(a),
        lambda a, b: (a & MASK) // (b & MASK),
        lambda a, b: (a & 127) * (b & 255) - (a < b),
    ]
    narrow: list[Column] = [lambda a, b: a + b & 255, lambda a, b: (a & 15) << 4 | b & 15]
    return _table(columns, x, odd), _table(narrow, x, odd)
