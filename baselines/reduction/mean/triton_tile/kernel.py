"""Mean over the middle axis (Higham 2002, chapter 4, for the sum), bound by reading x once.

A tile has some slices, some rows and some columns; lanes lie along the columns or, without an inner axis, along a row.
"""

import torch
import triton
import triton.language as tl

TILE = 4096


@triton.jit
def _mean(
    x, y, outer, length, inner, x_outer, x_row, x_col,
    TILE_O: tl.constexpr, TILE_L: tl.constexpr, TILE_I: tl.constexpr,
):  # fmt: skip
    tiles = tl.cdiv(inner, TILE_I)
    piece = (tl.program_id(0) // tiles).to(tl.int64) * TILE_O + tl.arange(0, TILE_O)[:, None, None]
    place = tl.arange(0, TILE_L).to(tl.int64)[None, :, None]
    col = (tl.program_id(0) % tiles).to(tl.int64) * TILE_I + tl.arange(0, TILE_I)[None, None, :]
    inside = (piece < outer) & (col < inner)
    # Each lane keeps a result of its own; they meet after the last rows.
    total = tl.full([TILE_O, TILE_L, TILE_I], 0.0, tl.float32)
    for start in range(0, length, TILE_L):
        row = start + place
        value = tl.load(x + piece * x_outer + row * x_row + col * x_col, mask=inside & (row < length), other=0.0)
        total += value.to(tl.float32)
    result = tl.sum(total, axis=1, keep_dims=True) / length
    target = y + piece * inner + col
    tl.store(target, result.to(y.dtype.element_ty), mask=inside)


def mean(x: torch.Tensor, y: torch.Tensor) -> None:
    outer, length, inner = x.shape
    # 128 bytes of a row are enough for whole lines, and narrow tiles are many.
    tile_i = min(triton.next_power_of_2(inner), 128 // x.element_size())
    tile_l = min(triton.next_power_of_2(length), TILE // tile_i)
    tile_o = min(triton.next_power_of_2(max(1, outer)), TILE // (tile_i * tile_l))
    _mean[(triton.cdiv(outer, tile_o) * triton.cdiv(inner, tile_i),)](
        x,
        y,
        outer,
        length,
        inner,
        *x.stride(),
        TILE_O=tile_o,
        TILE_L=tile_l,
        TILE_I=tile_i,
        num_warps=min(max(1, tile_o * tile_l * tile_i // 512), 8),
    )
