"""Rotary embedding of neighbours (Su et al. 2021, eq. 34), in one pass.

Rows of a tile are heads of a token or two; the rows of the tables that they share come from the L1 cache.
Both of a pair are loaded and stored side by side, and taken apart in registers.
"""

import torch
import triton
import triton.language as tl

TILE = 2048


@triton.jit
def _turn(
    x, position, cos, sin, y, rows, heads, half, x_token, x_head, x_place, position_place,
    cos_row, cos_col, sin_row, sin_col, TILE_ROWS: tl.constexpr, TILE_HALF: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64) * TILE_ROWS + tl.arange(0, TILE_ROWS)[:, None]
    pair = tl.arange(0, TILE_HALF)[None, :]
    inside = (row < rows) & (pair < half)
    token = row // heads
    angle = tl.load(position + token * position_place, mask=row < rows, other=0)
    cosine = tl.load(cos + angle * cos_row + pair * cos_col, mask=inside, other=0.0).to(tl.float32)
    sine = tl.load(sin + angle * sin_row + pair * sin_col, mask=inside, other=0.0).to(tl.float32)
    from_head = x + token * x_token + (row - token * heads) * x_head
    to_head = y + row * 2 * half
    place = tl.arange(0, 2 * TILE_HALF)[None, :]
    both_inside = (row < rows) & (place < 2 * half)
    both = tl.load(from_head + place * x_place, mask=both_inside, other=0.0).to(tl.float32)
    even, odd = tl.split(tl.reshape(both, [TILE_ROWS, TILE_HALF, 2]))
    turned = tl.interleave(even * cosine - odd * sine, odd * cosine + even * sine)
    tl.store(to_head + place, turned.to(y.dtype.element_ty), mask=both_inside)


def rope_interleaved(
    x: torch.Tensor, position: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, y: torch.Tensor
) -> None:
    tokens, heads, width = x.shape
    tile_half = triton.next_power_of_2(width // 2)
    tile_rows = min(TILE // tile_half, triton.next_power_of_2(max(1, tokens * heads)))
    _turn[(triton.cdiv(tokens * heads, tile_rows),)](
        x,
        position,
        cos,
        sin,
        y,
        tokens * heads,
        heads,
        width // 2,
        *x.stride(),
        *position.stride(),
        *cos.stride(),
        *sin.stride(),
        TILE_ROWS=tile_rows,
        TILE_HALF=tile_half,
        num_warps=min(max(1, tile_rows * tile_half // 256), 8),
    )
