"""Combination of experts (Gale et al. 2022, section 5.2): each program gathers and adds up a tile of the result.

Sums are kept in float32. A tile has some tokens by some columns, of which all terms are fetched one choice at a time.
"""

import torch
import triton
import triton.language as tl

TILE = 2048


@triton.jit
def _combine(
    x, place, weight, y, tokens, chosen, width, x_row, x_col, place_row, place_col, weight_row, weight_col,
    TILE_ROWS: tl.constexpr, TILE_COLS: tl.constexpr,
):  # fmt: skip
    tiles = tl.cdiv(width, TILE_COLS)
    token = (tl.program_id(0) // tiles).to(tl.int64) * TILE_ROWS + tl.arange(0, TILE_ROWS)[:, None]
    col = (tl.program_id(0) % tiles).to(tl.int64) * TILE_COLS + tl.arange(0, TILE_COLS)[None, :]
    there = token < tokens
    inside = there & (col < width)
    total = tl.zeros([TILE_ROWS, TILE_COLS], tl.float32)
    for choice in range(chosen):
        row = tl.load(place + token * place_row + choice * place_col, mask=there, other=0)
        factor = tl.load(weight + token * weight_row + choice * weight_col, mask=there, other=0.0).to(tl.float32)
        value = tl.load(x + row * x_row + col * x_col, mask=inside, other=0.0).to(tl.float32)
        total += factor * value
    tl.store(y + token * width + col, total.to(y.dtype.element_ty), mask=inside)


def unpermute(x: torch.Tensor, place: torch.Tensor, weight: torch.Tensor, y: torch.Tensor) -> None:
    (tokens, chosen), width = place.shape, x.shape[1]
    tile_cols = min(triton.next_power_of_2(width), TILE if x.stride(1) == 1 else 64)
    tile_rows = min(TILE // tile_cols, triton.next_power_of_2(tokens))
    _combine[(triton.cdiv(tokens, tile_rows) * triton.cdiv(width, tile_cols),)](
        x,
        place,
        weight,
        y,
        tokens,
        chosen,
        width,
        *x.stride(),
        *place.stride(),
        *weight.stride(),
        TILE_ROWS=tile_rows,
        TILE_COLS=tile_cols,
        num_warps=min(max(1, tile_rows * tile_cols // 256), 8),
    )
