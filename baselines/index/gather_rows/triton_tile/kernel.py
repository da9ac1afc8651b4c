"""Gather within rows (torch.gather): each program fetches a tile of the result, some rows by some places.

Elements of a row that several lanes ask for, or that share a line, meet in the L1 cache.
"""

import torch
import triton
import triton.language as tl

TILE = 2048


@triton.jit
def _gather_rows(
    x, index, y, rows, selected, x_row, x_col, index_row, index_col, TILE_ROWS: tl.constexpr, TILE_COLS: tl.constexpr
):
    tiles = tl.cdiv(selected, TILE_COLS)
    row = (tl.program_id(0) // tiles).to(tl.int64) * TILE_ROWS + tl.arange(0, TILE_ROWS)[:, None]
    col = (tl.program_id(0) % tiles).to(tl.int64) * TILE_COLS + tl.arange(0, TILE_COLS)[None, :]
    inside = (row < rows) & (col < selected)
    place = tl.load(index + row * index_row + col * index_col, mask=inside, other=0)
    value = tl.load(x + row * x_row + place * x_col, mask=inside)
    tl.store(y + row * selected + col, value, mask=inside)


def gather_rows(x: torch.Tensor, index: torch.Tensor, y: torch.Tensor) -> None:
    rows, selected = y.shape
    if y.numel() == 0:
        return
    tile_cols = min(triton.next_power_of_2(selected), TILE)
    tile_rows = min(TILE // tile_cols, triton.next_power_of_2(rows))
    _gather_rows[(triton.cdiv(rows, tile_rows) * triton.cdiv(selected, tile_cols),)](
        x,
        index,
        y,
        rows,
        selected,
        *x.stride(),
        *index.stride(),
        TILE_ROWS=tile_rows,
        TILE_COLS=tile_cols,
        num_warps=min(max(1, tile_rows * tile_cols // 256), 8),
    )
