"""Prefix sum of each row (Blelloch 1990, section 1.1): tiles are scanned in registers, x is read only once.

A program walks along its rows from tile to tile and carries their sums along in float32.
"""

import torch
import triton
import triton.language as tl

TILE = 4096


@triton.jit
def _cumsum(x, y, rows, cols, x_row, x_col, TILE_ROWS: tl.constexpr, TILE_COLS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * TILE_ROWS + tl.arange(0, TILE_ROWS)[:, None]
    carry = tl.zeros([TILE_ROWS, 1], tl.float32)
    for start in range(0, cols, TILE_COLS):
        col = start + tl.arange(0, TILE_COLS).to(tl.int64)[None, :]
        inside = (row < rows) & (col < cols)
        value = tl.load(x + row * x_row + col * x_col, mask=inside, other=0.0).to(tl.float32)
        result = carry + tl.cumsum(value, axis=1)
        tl.store(y + row * cols + col, result.to(y.dtype.element_ty), mask=inside)
        carry += tl.sum(value, axis=1, keep_dims=True)


def cumsum(x: torch.Tensor, y: torch.Tensor) -> None:
    rows, cols = x.shape
    tile_cols = min(triton.next_power_of_2(cols), TILE)
    # Short rows share a program.
    tile_rows = min(TILE // tile_cols, triton.next_power_of_2(rows))
    _cumsum[(triton.cdiv(rows, tile_rows),)](
        x,
        y,
        rows,
        cols,
        *x.stride(),
        TILE_ROWS=tile_rows,
        TILE_COLS=tile_cols,
        num_warps=min(max(1, tile_rows * tile_cols // 512), 8),
    )
