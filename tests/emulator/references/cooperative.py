"""Cooperative groups."""

from __future__ import annotations

import torch
from description import integers, kernel, result, uniform
from torch import Tensor

INT = torch.int32


def _pick(x: Tensor, source: Tensor) -> Tensor:
    """x[..., source] within each row, with one source per place."""
    return x.gather(-1, source.expand_as(x))


@kernel("cooperative/thread_block", inputs=[integers(-99, 99, 6, 60)], outputs=[result(6, 60, 6, dtype=INT)])
def thread_block(x: Tensor) -> Tensor:
    rank = torch.arange(60)
    place = rank % 5 * 100 + rank // 5 % 6 * 10 + rank // 30
    constant = torch.ones_like(x)
    return torch.stack(
        [
            x.sum(1, keepdim=True).expand_as(x),
            rank.expand_as(x),
            place.expand_as(x),
            562 * constant,
            60 * constant,
            x.roll(-1, 1),
        ],
        -1,
    )


@kernel(
    "cooperative/tile_32",
    inputs=[uniform(5, 300)],
    outputs=[result(5, absolute=3e-5)],
    scalars=[5, 300],
    because="300 terms of at most 2",
)
def tile_32(x: Tensor) -> Tensor:
    return x.double().sum(1)


def _tile_results(x: Tensor, size: int) -> Tensor:
    tiles = x.view(-1, size).long()
    rank = torch.arange(size)
    above = torch.where(rank > 0, rank - 1, rank)
    below = torch.where(rank + size // 2 < size, rank + size // 2, rank)
    ballot = ((tiles % 2) << rank).sum(1, keepdim=True) * 10
    ballot = ballot + (tiles > 90).any(1, keepdim=True) * 2 + (tiles > 5).all(1, keepdim=True)
    place = torch.arange(len(tiles))[:, None] * 1000 + len(tiles) * 10 + size
    rows = [
        tiles.sum(1, keepdim=True).expand_as(tiles),
        tiles[:, 1:2] * 1000 + _pick(tiles, above),
        ballot.expand_as(tiles),
        place.expand_as(tiles),
        _pick(tiles, below) + rank,
    ]
    return torch.stack([row.flatten() for row in rows])


@kernel("cooperative/small_tiles", inputs=[integers(0, 100, 64)], outputs=[result(15, 64, dtype=INT)])
def small_tiles(x: Tensor) -> Tensor:
    return torch.cat([_tile_results(x, size) for size in (16, 8, 4)])


@kernel(
    "cooperative/coalesced",
    inputs=[integers(0, 100, 235)],
    outputs=[result(1, dtype=INT), result(235, dtype=INT)],
    scalars=[235],
)
def coalesced(x: Tensor) -> tuple[Tensor, ...]:
    count = (x % 2 == 1).sum()
    return count.view(1), torch.arange(235) < count


def _fold(x: Tensor, how: str) -> Tensor:
    folded = x[:, 0]
    for lane in range(1, x.shape[1]):
        folded = getattr(folded, how)(x[:, lane])
    return folded


@kernel(
    "cooperative/reduce",
    inputs=[integers(0, 1 << 20, 192), uniform(192)],
    outputs=[result(192, 7, dtype=INT), result(6, absolute=1e-5)],
    scalars=[192],
    because="32 terms of at most 2",
)
def reduce(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
    warps = x.view(6, 32)
    values = [warps.sum(1), warps.amin(1), warps.amax(1)]
    values += [_fold(warps, how) for how in ("bitwise_and", "bitwise_or", "bitwise_xor")]
    columns = [value.repeat_interleave(32) for value in values]
    columns.append(x.view(48, 4).amax(1).repeat_interleave(4))
    return torch.stack(columns, 1), y.double().view(6, 32).sum(1)


@kernel(
    "cooperative/scan",
    inputs=[integers(-99, 99, 192)],
    outputs=[result(192, dtype=INT)] * 4,
    scalars=[192],
)
def scan(x: Tensor) -> tuple[Tensor, ...]:
    warps, tiles = x.view(6, 32), x.view(24, 8)
    inclusive = warps.cumsum(1)
    return (
        inclusive.flatten(),
        (inclusive - warps).flatten(),
        warps.cummax(1).values.flatten(),
        (tiles.cumsum(1) - tiles).flatten(),
    )


def _group(labels: Tensor) -> tuple[Tensor, Tensor]:
    """Size * 100 + rank of the lane's group, and which lanes belong to it."""
    same = labels[:, :, None] == labels[:, None]
    before = same & (torch.arange(32) < torch.arange(32)[:, None])
    return same.sum(-1) * 100 + before.sum(-1), same


@kernel("cooperative/partitions", inputs=[integers(0, 100, 128)], outputs=[result(128, 4, dtype=INT)], scalars=[128])
def partitions(x: Tensor) -> Tensor:
    warps = x.view(4, 32)
    parity, _ = _group(warps % 2)
    label, same = _group(warps % 5)
    sums = (same * warps[:, None]).sum(-1)
    eight = 800 + torch.arange(32) % 8
    return torch.stack([parity, label, sums, eight.expand_as(warps)], -1).view(128, 4)


@kernel(
    "cooperative/grid_sync",
    inputs=[uniform(1111)],
    outputs=[result(5, relative=1e-5), result(1111, relative=1e-5, absolute=1e-9)],
    scalars=[1111],
    because="sums of 250 positive terms",
)
def grid_sync(x: Tensor) -> tuple[Tensor, ...]:
    owner = torch.arange(1111) // 64 % 5
    squares = x.double() ** 2
    partial = torch.stack([squares[owner == block].sum() for block in range(5)])
    return partial, x.double() / squares.sum().sqrt()


@kernel("cooperative/async_copy", inputs=[uniform(5, 77)], outputs=[result(5, 77)], scalars=[5, 77])
def async_copy(x: Tensor) -> Tensor:
    return x.flip(1)
