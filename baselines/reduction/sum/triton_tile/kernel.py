"""Sum over the middle axis of [outer, length, inner] in blocks of all three axes, whatever their sizes and strides.

Every lane adds up the terms it meets on its way along the middle axis; lanes of a sum meet after the last piece.
"""

import torch
import triton
import triton.language as tl

TILE = 4096


@triton.jit
def _sum(
    x, y, outer, length, inner, x_outer, x_length, x_inner,
    TILE_OUTER: tl.constexpr, TILE_LENGTH: tl.constexpr, TILE_INNER: tl.constexpr,
):  # fmt: skip
    across = tl.cdiv(inner, TILE_INNER)
    row = (tl.program_id(0) // across).to(tl.int64) * TILE_OUTER + tl.arange(0, TILE_OUTER)
    col = (tl.program_id(0) % across).to(tl.int64) * TILE_INNER + tl.arange(0, TILE_INNER)
    here = x + row[:, None, None] * x_outer + col[None, None, :] * x_inner
    wanted = (row < outer)[:, None, None] & (col < inner)[None, None, :]
    total = tl.zeros([TILE_OUTER, TILE_LENGTH, TILE_INNER], tl.float32)
    for start in range(0, length, TILE_LENGTH):
        term = start + tl.arange(0, TILE_LENGTH).to(tl.int64)[None, :, None]
        total += tl.load(here + term * x_length, mask=wanted & (term < length), other=0.0).to(tl.float32)
    result = tl.sum(total, axis=1).to(y.dtype.element_ty)
    tl.store(y + row[:, None] * inner + col[None, :], result, mask=(row < outer)[:, None] & (col < inner)[None, :])


def sum(x: torch.Tensor, y: torch.Tensor) -> None:
    outer, length, inner = x.shape
    # 128 bytes across are whole cache lines; the rest of a tile lies along the terms, or over several slices.
    tile_inner = min(triton.next_power_of_2(inner), 128 // x.element_size())
    tile_length = min(triton.next_power_of_2(length), TILE // tile_inner)
    tile_outer = min(triton.next_power_of_2(outer), TILE // (tile_inner * tile_length))
    _sum[(triton.cdiv(outer, tile_outer) * triton.cdiv(inner, tile_inner),)](
        x,
        y,
        outer,
        length,
        inner,
        *x.stride(),
        TILE_OUTER=tile_outer,
        TILE_LENGTH=tile_length,
        TILE_INNER=tile_inner,
        num_warps=8,
    )
