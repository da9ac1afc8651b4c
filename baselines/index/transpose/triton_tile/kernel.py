"""Transpose (Golub and Van Loan 2013, section 1.1) by tiles: read as x lies in memory, turned, written along y's rows.

Triton turns a tile through shared memory, so that lanes that are neighbours have neighbouring addresses on both sides.
"""

import torch
import triton
import triton.language as tl

EDGE = 64


@triton.jit
def _transpose(x, y, rows, cols, x_row, x_col, TILE_ROWS: tl.constexpr, TILE_COLS: tl.constexpr):
    tiles = tl.cdiv(cols, TILE_COLS)
    row = (tl.program_id(0) // tiles).to(tl.int64) * TILE_ROWS + tl.arange(0, TILE_ROWS)
    col = (tl.program_id(0) % tiles).to(tl.int64) * TILE_COLS + tl.arange(0, TILE_COLS)
    inside = (row[:, None] < rows) & (col[None, :] < cols)
    value = tl.load(x + row[:, None] * x_row + col[None, :] * x_col, mask=inside)
    turned = (row[None, :] < rows) & (col[:, None] < cols)
    tl.store(y + col[:, None] * rows + row[None, :], tl.trans(value), mask=turned)


def transpose(x: torch.Tensor, y: torch.Tensor) -> None:
    rows, cols = x.shape
    # A thin matrix gets longer tiles.
    tile_rows = min(triton.next_power_of_2(max(rows, 1)), EDGE)
    tile_cols = min(triton.next_power_of_2(cols), EDGE * EDGE // tile_rows)
    tile_rows = min(triton.next_power_of_2(max(rows, 1)), EDGE * EDGE // tile_cols)
    _transpose[(triton.cdiv(rows, tile_rows) * triton.cdiv(cols, tile_cols),)](
        x,
        y,
        rows,
        cols,
        *x.stride(),
        TILE_ROWS=tile_rows,
        TILE_COLS=tile_cols,
        num_warps=min(max(1, tile_rows * tile_cols // 512), 8),
    )
