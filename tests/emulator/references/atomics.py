"""Atomics on every type, fences, spinning."""

from __future__ import annotations

import torch
from description import integers, kernel, result, uniform
from torch import Tensor

INT = torch.int32
LONG = torch.int64


def _fold(x: Tensor, how: str) -> Tensor:
    folded = x[0]
    for value in x[1:]:
        folded = getattr(folded, how)(value)
    return folded


def _s32(x: Tensor) -> Tensor:
    return (x & 0xFFFFFFFF).to(INT)


@kernel(
    "atomics/integers",
    inputs=[integers(-(1 << 20), 1 << 20, 333)],
    outputs=[result(7, dtype=INT), result(7, dtype=INT), result(6, dtype=LONG), result(2, dtype=LONG)],
    scalars=[333],
)
def atomic_integers(x: Tensor) -> tuple[Tensor, ...]:
    signed = x.long()
    bits = signed & 0xFFFFFFFF
    ands, ors, xors = "bitwise_and", "bitwise_or", "bitwise_xor"
    signeds = [signed.sum(), -signed.sum(), signed.min(), signed.max()]
    signeds += [_fold(signed | 3, ands), _fold(signed & 0xFF, ors), _fold(signed, xors)]
    unsigneds = [bits.sum(), -bits.sum(), bits.min(), bits.max()]
    unsigneds += [_fold(bits | 5, ands), _fold(bits & 0xFF00, ors), _fold(bits, xors)]
    one = torch.ones_like(bits)
    wide = [(bits << 20).sum(), bits.min() * 3, bits.max() * 5, _fold(bits << 31, xors)]
    wide += [_fold(one << (bits % 64), ors), _fold(~(one << (bits % 61)), ands)]
    return (
        _s32(torch.stack(signeds)),
        _s32(torch.stack(unsigneds)),
        torch.stack(wide),
        torch.stack([signed.min(), signed.max()]) * 100000,
    )


@kernel(
    "atomics/floats",
    inputs=[integers(-50, 50, 57, 13, dtype=torch.float32)],
    outputs=[result(13), result(13, dtype=torch.float64)],
    scalars=[57, 13],
    because="small whole numbers: exact in every order",
)
def atomic_floats(x: Tensor) -> tuple[Tensor, ...]:
    return x.sum(0), x.double().sum(0) / 8


@kernel(
    "atomics/halves",
    inputs=[integers(-2, 3, 150, dtype=torch.float32)],
    outputs=[
        result(7, dtype=torch.float16),
        result(7, 2, dtype=torch.float16),
        result(7, dtype=torch.bfloat16),
        result(7, 2, dtype=torch.bfloat16),
    ],
    scalars=[150],
    because="whole numbers of at most 8 bits: exact in every order",
)
def atomic_halves(x: Tensor) -> tuple[Tensor, ...]:
    sums = torch.stack([x[slot::7].sum() for slot in range(7)])
    return sums, torch.stack([sums, -sums], 1) + 0.0, sums, torch.stack([sums, 2 * sums], 1)


@kernel(
    "atomics/compare_and_swap",
    inputs=[uniform(177)],
    outputs=[result(5), result(5, dtype=torch.float64), result(3, dtype=torch.int16)],
    scalars=[177],
    because="products of powers of two",
)
def compare_and_swap(x: Tensor) -> tuple[Tensor, ...]:
    index = torch.arange(177)
    factors = torch.where(x < 0, -2.0, 0.5).double()
    products = [factors[(index % 4 == 0) & (index % 5 == slot)].prod() for slot in range(5)]
    shorts = (x.abs() * 100).to(torch.int16)
    highest = [x[slot::5].max() for slot in range(5)]
    return torch.stack(highest), torch.stack(products), torch.stack([shorts[slot::3].max() for slot in range(3)])


@kernel(
    "atomics/wrapping_counters",
    outputs=[result(2, dtype=INT), result(10, dtype=INT), result(2)],
    scalars=[237],
    because="whole numbers below 2^24",
)
def wrapping_counters() -> tuple[Tensor, ...]:
    # Decrements run 0 -> 6 -> 5 ... -> 0: seven states.
    counters = torch.tensor([237 % 10, (7 - 237 % 7) % 7])
    handed = torch.tensor([237 // 10 + (slot < 237 % 10) for slot in range(10)])
    return counters, handed, torch.tensor([0.0, 237 * 236 / 2])


@kernel(
    "atomics/shared_histogram",
    inputs=[integers(0, 256, 1500, dtype=torch.uint8)],
    outputs=[result(37, dtype=INT)],
    scalars=[1500],
)
def shared_histogram(data: Tensor) -> Tensor:
    return torch.bincount(data.long() % 37, minlength=37)


@kernel(
    "atomics/scopes",
    inputs=[integers(0, 1000, 200)],
    outputs=[result(5, 3, dtype=INT), result(1, dtype=LONG), result(1)],
    scalars=[200],
)
def scopes(x: Tensor) -> tuple[Tensor, ...]:
    rows = []
    for piece in torch.split(x.long(), 48):
        seen = _fold(torch.ones_like(piece) << (piece & 31), "bitwise_or")
        rows.append(torch.stack([piece.sum(), seen & 0xFFFF, piece.max()]))
    return torch.stack(rows), x.long().sum().view(1), torch.tensor([200.0])


@kernel(
    "atomics/tickets",
    inputs=[uniform(11, 71)],
    outputs=[result(11, relative=1e-5)],
    scalars=[11, 71],
    because="71 positive terms",
)
def tickets(x: Tensor) -> Tensor:
    return x.double().abs().sum(1)


@kernel("atomics/lock", inputs=[uniform(613)], outputs=[result(1), result(1, dtype=INT)], scalars=[613])
def lock(x: Tensor) -> tuple[Tensor, ...]:
    return x.max().view(1), (x == x.max()).int().argmax().view(1)


@kernel(
    "fences/last_block",
    inputs=[integers(-50, 50, 1777, dtype=torch.float32)],
    outputs=[result(7), result(1)],
    scalars=[1777],
    because="small whole numbers: exact in every order",
)
def last_block(x: Tensor) -> tuple[Tensor, ...]:
    owner = torch.arange(1777) // 64 % 7
    return torch.stack([x[owner == block].sum() for block in range(7)]), x.sum().view(1)


@kernel("fences/hand_over", inputs=[integers(-99, 99, 5, 32)], outputs=[result(5, 32, dtype=INT)], scalars=[5])
def hand_over(x: Tensor) -> Tensor:
    return 3 * x.flip(1)


@kernel("fences/chained_scan", inputs=[integers(-99, 99, 700)], outputs=[result(700, dtype=INT)], scalars=[700])
def chained_scan(x: Tensor) -> Tensor:
    return x.cumsum(0)
