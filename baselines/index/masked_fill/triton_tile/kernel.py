"""Masked fill (torch.Tensor.masked_fill): each program moves a tile, some rows by some columns.

Tensors without gaps are taken as one long row, so that tiles are full whatever the number of columns.
"""

import torch
import triton
import triton.language as tl

TILE = 4096


@triton.jit
def _masked_fill(
    x, mask, value, y, rows, cols, x_row, x_col, mask_row, mask_col, TILE_ROWS: tl.constexpr, TILE_COLS: tl.constexpr
):
    tiles = tl.cdiv(cols, TILE_COLS)
    row = (tl.program_id(0) // tiles).to(tl.int64) * TILE_ROWS + tl.arange(0, TILE_ROWS)[:, None]
    col = (tl.program_id(0) % tiles).to(tl.int64) * TILE_COLS + tl.arange(0, TILE_COLS)[None, :]
    inside = (row < rows) & (col < cols)
    marked = tl.load(mask + row * mask_row + col * mask_col, mask=inside, other=0) != 0
    # What is marked is replaced on the way: it need not be read.
    kept = tl.load(x + row * x_row + col * x_col, mask=inside & ~marked, other=0.0)
    result = tl.where(marked, value, kept.to(tl.float32)).to(y.dtype.element_ty)
    tl.store(y + row * cols + col, result, mask=inside)


def masked_fill(x: torch.Tensor, mask: torch.Tensor, value: float, y: torch.Tensor) -> None:
    if y.numel() == 0:
        return
    if x.is_contiguous() and mask.is_contiguous():
        x, mask, y = x.view(1, -1), mask.view(1, -1), y.view(1, -1)
    rows, cols = x.shape
    tile_cols = min(triton.next_power_of_2(cols), 1024 if rows > 1 else TILE)
    tile_rows = min(TILE // tile_cols, triton.next_power_of_2(rows))
    _masked_fill[(triton.cdiv(rows, tile_rows) * triton.cdiv(cols, tile_cols),)](
        x,
        mask,
        value,
        y,
        rows,
        cols,
        *x.stride(),
        *mask.stride(),
        TILE_ROWS=tile_rows,
        TILE_COLS=tile_cols,
        num_warps=min(max(1, tile_rows * tile_cols // 512), 8),
    )
