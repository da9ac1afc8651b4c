"""Box filter with continued edges (McDonnell 1981), separably: sums along the rows, then down the columns.

The sums are kept in float32. Pixels of all planes are numbered in one sequence, so that small planes still fill a
program; overlapping windows meet in the L1 cache.
"""

import torch
import triton
import triton.language as tl

TILE = 1024


@triton.jit
def _add_rows(
    x, sums, pixels, channels, height, width, x_batch, x_channel, x_row, x_col, REACH: tl.constexpr, TILE: tl.constexpr
):  # fmt: skip
    # The task has fewer than 2^31 pixels; 64-bit division takes a GPU several times as long as 32-bit.
    index = tl.program_id(0) * TILE + tl.arange(0, TILE)
    inside = index < pixels
    line = index // width
    plane = line // height
    col = index % width
    row = x + (plane // channels).to(tl.int64) * x_batch + (plane % channels).to(tl.int64) * x_channel
    row += (line % height).to(tl.int64) * x_row
    total = tl.zeros([TILE], tl.float32)
    for shift in tl.static_range(-REACH, REACH + 1):
        place = tl.minimum(tl.maximum(col + shift, 0), width - 1)
        total += tl.load(row + place.to(tl.int64) * x_col, mask=inside, other=0.0).to(tl.float32)
    tl.store(sums + index, total, mask=inside)


@triton.jit
def _average_columns(sums, y, pixels, height, width, REACH: tl.constexpr, TILE: tl.constexpr):
    index = tl.program_id(0) * TILE + tl.arange(0, TILE)
    inside = index < pixels
    row = index // width % height
    column = sums + index
    total = tl.zeros([TILE], tl.float32)
    for shift in tl.static_range(-REACH, REACH + 1):
        place = tl.minimum(tl.maximum(row + shift, 0), height - 1)
        total += tl.load(column + (place - row) * width, mask=inside, other=0.0)
    mean = total / ((2 * REACH + 1) * (2 * REACH + 1))
    tl.store(y + index, mean.to(y.dtype.element_ty), mask=inside)


def box_blur(x: torch.Tensor, radius: int, y: torch.Tensor) -> None:
    (_, channels, height, width), pixels = x.shape, y.numel()
    sums = torch.empty(y.shape, dtype=torch.float32, device=y.device)
    grid = (triton.cdiv(pixels, TILE),)
    _add_rows[grid](x, sums, pixels, channels, height, width, *x.stride(), REACH=radius, TILE=TILE, num_warps=4)
    _average_columns[grid](sums, y, pixels, height, width, REACH=radius, TILE=TILE, num_warps=4)
