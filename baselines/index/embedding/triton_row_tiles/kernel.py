"""Embedding (Bengio et al. 2003, section 2): each program copies a tile of the result, some tokens by some columns.

Short rows share a program; a long one is spread over several.
"""

import torch
import triton
import triton.language as tl

TILE = 4096
WIDEST = 2048


@triton.jit
def _embedding(
    token,
    weight,
    y,
    tokens,
    width,
    token_place,
    weight_row,
    weight_col,
    TILE_ROWS: tl.constexpr,
    TILE_COLS: tl.constexpr,
):
    tiles = tl.cdiv(width, TILE_COLS)
    row = (tl.program_id(0) // tiles).to(tl.int64) * TILE_ROWS + tl.arange(0, TILE_ROWS)[:, None]
    col = (tl.program_id(0) % tiles).to(tl.int64) * TILE_COLS + tl.arange(0, TILE_COLS)[None, :]
    inside = (row < tokens) & (col < width)
    source = tl.load(token + row * token_place, mask=row < tokens, other=0)
    value = tl.load(weight + source * weight_row + col * weight_col, mask=inside)
    tl.store(y + row * width + col, value, mask=inside)


def embedding(token: torch.Tensor, weight: torch.Tensor, y: torch.Tensor) -> None:
    tokens, width = y.shape
    tile_cols = min(triton.next_power_of_2(width), WIDEST)
    tile_rows = min(TILE // tile_cols, triton.next_power_of_2(max(tokens, 1)))
    _embedding[(triton.cdiv(tokens, tile_rows) * triton.cdiv(width, tile_cols),)](
        token,
        weight,
        y,
        tokens,
        width,
        *token.stride(),
        *weight.stride(),
        TILE_ROWS=tile_rows,
        TILE_COLS=tile_cols,
        num_warps=min(max(1, tile_rows * tile_cols // 512), 8),
    )
