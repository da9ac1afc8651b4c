"""Shuffles, votes, matches and reductions within a warp."""

from __future__ import annotations

import torch
from description import integers, kernel, result, uniform
from torch import Tensor

INT = torch.int32


def _u32(x: Tensor) -> Tensor:
    """The value as unsigned, in a type that holds it."""
    return x.long() & 0xFFFFFFFF


def _s32(x: Tensor) -> Tensor:
    """The low 32 bits as a signed int."""
    return (x & 0xFFFFFFFF).to(torch.int32)


@kernel(
    "warp/shuffle_down",
    inputs=[uniform(7, 77)],
    outputs=[result(7, absolute=1e-5)],
    scalars=[7, 77],
    because="77 terms of at most 2",
)
def shuffle_down(x: Tensor) -> Tensor:
    return x.double().sum(1)


@kernel(
    "warp/shuffle_up_scan",
    inputs=[integers(-99, 99, 5, 101)],
    outputs=[result(5, 101, dtype=INT)],
    scalars=[5, 101],
)
def shuffle_up_scan(x: Tensor) -> Tensor:
    return x.cumsum(1)


@kernel(
    "warp/shuffle_xor_argmax",
    inputs=[integers(-20, 20, 9, 83, dtype=torch.float32)],
    outputs=[result(9), result(9, dtype=torch.int64)],
    scalars=[9, 83],
)
def shuffle_xor_argmax(x: Tensor) -> tuple[Tensor, ...]:
    first = (x == x.amax(1, keepdim=True)).long().argmax(1)
    return x.amax(1), first


def _segments(x: Tensor, width: int) -> Tensor:
    lane = torch.arange(32)
    base, rank = lane // width * width, lane % width
    up = torch.where(rank >= 2, lane - 2, lane)
    down = torch.where(rank + 3 < width, lane + 3, lane)
    sources = [base + 3, base + (width + 1) % width, up, down, lane ^ (width - 1)]
    return torch.stack([x[source] for source in sources])


@kernel("warp/shuffle_widths", inputs=[integers(-999, 999, 32)], outputs=[result(15, 32, dtype=INT)])
def shuffle_widths(x: Tensor) -> Tensor:
    return torch.cat([_segments(x, width) for width in (4, 8, 16)])


@kernel(
    "warp/shuffle_types",
    inputs=[integers(-(1 << 50), 1 << 50, 32, dtype=torch.int64)],
    outputs=[
        result(32, dtype=torch.float64),
        result(32, dtype=torch.int64),
        result(32, dtype=torch.int64),
        result(32),
        result(32, 2),
        result(32, dtype=INT),
    ],
)
def shuffle_types(x: Tensor) -> tuple[Tensor, ...]:
    lane = torch.arange(32)
    source = (lane + 5) % 32
    remainder = torch.fmod(x, 1000).to(torch.float16)
    pairs = torch.stack([source, source + 0.5], -1)
    below = torch.where(lane < 31, lane + 1, lane)
    return (
        x[source].double() * 0.5,
        x[source] + x[lane ^ 1],
        x[source] * 3,
        remainder[source].float(),
        pairs,
        _s32(x[below]),
    )


@kernel(
    "warp/partial_warps",
    inputs=[integers(-999, 999, 3, 77)],
    outputs=[result(3, 77, dtype=INT)],
    scalars=[3, 77],
)
def partial_warps(x: Tensor) -> Tensor:
    return torch.cat([piece.sum(1, keepdim=True).expand_as(piece) for piece in torch.split(x, 32, 1)], 1)


def _ballot(predicate: Tensor) -> Tensor:
    """The last axis, 32 lanes, as bits."""
    return _s32((predicate.long() << torch.arange(32)).sum(-1))


def _vote_values(generator: torch.Generator) -> Tensor:
    values = integers(0, 100, 7, 32)(generator)
    values[1] |= 1
    values[2] %= 50
    values[3] = values[3] % 50 + 50
    return values.flatten()[:217]


@kernel(
    "warp/votes",
    inputs=[_vote_values],
    outputs=[result(8, dtype=INT), result(8, dtype=INT), result(8, dtype=INT), result(8, 2, dtype=INT)],
    scalars=[217],
)
def votes(x: Tensor) -> tuple[Tensor, ...]:
    lanes = torch.nn.functional.pad(x, (0, 256 - 217)).view(8, 32)
    large = lanes >= 50
    upper = (lanes > 50) & (torch.arange(32) >= 16)
    return (
        (lanes % 2 == 1).all(1),
        (lanes > 95).any(1),
        large.all(1) | (~large).all(1),
        torch.stack([_ballot(lanes % 2 == 1), _ballot(upper)], 1),
    )


@kernel(
    "warp/ballot_compaction",
    inputs=[uniform(6, 75)],
    outputs=[result(6, 75), result(6, dtype=INT)],
    scalars=[6, 75],
)
def ballot_compaction(x: Tensor) -> tuple[Tensor, ...]:
    kept = torch.zeros_like(x)
    for row, values in enumerate(x):
        positive = values[values > 0]
        kept[row, : len(positive)] = positive
    return kept, (x > 0).sum(1)


def _keys(generator: torch.Generator) -> Tensor:
    keys = integers(0, 100, 4, 32)(generator)
    keys[2] %= 64
    return keys.flatten()


@kernel(
    "warp/match",
    inputs=[_keys, integers(0, 6, 128, dtype=torch.int64)],
    outputs=[result(128, dtype=INT), result(128, dtype=INT), result(128, dtype=INT)],
    scalars=[128],
)
def match(keys: Tensor, wide: Tensor) -> tuple[Tensor, ...]:
    rows, wide_rows = keys.view(4, 32), wide.view(4, 32)
    sizes = (rows[:, :, None] == rows[:, None]).sum(-1)
    leaders = (wide_rows[:, :, None] == wide_rows[:, None]).long().argmax(-1)
    blocks = rows // 64
    uniform_rows = torch.where((blocks == blocks[:, :1]).all(1, keepdim=True), 32, -1)
    return sizes.flatten(), leaders.flatten(), uniform_rows.expand(4, 32).flatten()


def _fold(x: Tensor, how: str) -> Tensor:
    folded = x[:, 0]
    for lane in range(1, x.shape[1]):
        folded = getattr(folded, how)(x[:, lane])
    return folded


@kernel(
    "warp/reduce_sync",
    inputs=[integers(-(1 << 24), 1 << 24, 5, 32)],
    outputs=[result(5, 9, dtype=INT)],
    scalars=[5],
)
def reduce_sync(x: Tensor) -> Tensor:
    bits = _u32(x)
    return torch.stack(
        [
            x.sum(1),
            x.amin(1),
            x.amax(1),
            _s32(_fold(bits, "bitwise_and")),
            _s32(_fold(bits, "bitwise_or")),
            _s32(_fold(bits, "bitwise_xor")),
            _s32(bits.amax(1)),
            x[:, ::2].sum(1),
            _s32(bits[:, ::2].amin(1)),
        ],
        1,
    )


@kernel(
    "warp/active_mask",
    inputs=[integers(0, 100, 301)],
    outputs=[result(1, dtype=INT), result(301, dtype=INT)],
    scalars=[301],
)
def active_mask(x: Tensor) -> tuple[Tensor, ...]:
    count = (x % 3 == 0).sum()
    return count.view(1), torch.arange(301) < count
