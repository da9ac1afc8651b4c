"""RMSNorm (Zhang and Sennrich 2019, eq. 4) in two passes over pieces of rows: the sums of squares, then the result.

Any width runs in the same few registers, but x is read twice, the second time mostly from the L2 cache.
"""

import torch
import triton
import triton.language as tl

EPSILON = tl.constexpr(1e-6)
TILE = 2048
PIECE = 1024


@triton.jit
def _rmsnorm(x, weight, y, rows, cols, x_row, x_col, weight_col, TILE_ROWS: tl.constexpr, TILE_COLS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * TILE_ROWS + tl.arange(0, TILE_ROWS)[:, None]
    # Every lane keeps a sum of its own; they meet after the last piece.
    squares = tl.zeros([TILE_ROWS, TILE_COLS], tl.float32)
    for start in range(0, cols, TILE_COLS):
        col = start + tl.arange(0, TILE_COLS).to(tl.int64)[None, :]
        inside = (row < rows) & (col < cols)
        value = tl.load(x + row * x_row + col * x_col, mask=inside, other=0.0).to(tl.float32)
        squares += value * value
    mean_square = tl.sum(squares, axis=1, keep_dims=True) / cols
    scale = tl.div_rn(1.0, tl.sqrt_rn(mean_square + EPSILON))
    for start in range(0, cols, TILE_COLS):
        col = start + tl.arange(0, TILE_COLS).to(tl.int64)[None, :]
        inside = (row < rows) & (col < cols)
        value = tl.load(x + row * x_row + col * x_col, mask=inside, other=0.0).to(tl.float32)
        gain = tl.load(weight + col * weight_col, mask=col < cols, other=0.0).to(tl.float32)
        tl.store(y + row * cols + col, (value * scale * gain).to(y.dtype.element_ty), mask=inside)


def rmsnorm(x: torch.Tensor, weight: torch.Tensor, y: torch.Tensor) -> None:
    rows, cols = x.shape
    tile_cols = min(triton.next_power_of_2(cols), PIECE)
    # Short rows share a program.
    tile_rows = min(TILE // tile_cols, triton.next_power_of_2(rows)) if cols < PIECE else 1
    _rmsnorm[(triton.cdiv(rows, tile_rows),)](
        x,
        weight,
        y,
        rows,
        cols,
        *x.stride(),
        *weight.stride(),
        TILE_ROWS=tile_rows,
        TILE_COLS=tile_cols,
        num_warps=4,
    )
