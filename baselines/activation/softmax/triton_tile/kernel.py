"""Softmax with the row maximum subtracted: programs hold whole rows in registers, so that x is read only once.

Rows too wide for that go through the online softmax of Milakov and Gimelshein (2018) in pieces, and are read twice.
"""

import torch
import triton
import triton.language as tl

TILE = 4096
WIDEST = 16384


@triton.jit
def _softmax(x, y, rows, cols, x_row, x_col, TILE_ROWS: tl.constexpr, TILE_COLS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * TILE_ROWS + tl.arange(0, TILE_ROWS)[:, None]
    col = tl.arange(0, TILE_COLS).to(tl.int64)[None, :]
    # Rows past the end repeat the last one; a row of padding only would compute inf - inf.
    source = tl.minimum(row, rows - 1)
    value = tl.load(x + source * x_row + col * x_col, mask=col < cols, other=-float("inf")).to(tl.float32)
    numerator = tl.exp(value - tl.max(value, axis=1, keep_dims=True))
    scale = tl.div_rn(1.0, tl.sum(numerator, axis=1, keep_dims=True))
    tl.store(y + row * cols + col, (numerator * scale).to(y.dtype.element_ty), mask=(row < rows) & (col < cols))


@triton.jit
def _softmax_wide(x, y, cols, x_row, x_col, TILE_COLS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    # Each lane keeps a maximum and a sum of its own; they meet after the loop. The first maximum is finite: -inf minus
    # itself would be NaN.
    top = tl.full([TILE_COLS], -3.4e38, tl.float32)
    total = tl.zeros([TILE_COLS], tl.float32)
    for start in range(0, cols, TILE_COLS):
        col = start + tl.arange(0, TILE_COLS).to(tl.int64)
        value = tl.load(x + row * x_row + col * x_col, mask=col < cols, other=-float("inf")).to(tl.float32)
        higher = tl.maximum(top, value)
        total = total * tl.exp(top - higher) + tl.exp(value - higher)
        top = higher
    highest = tl.max(top)
    scale = tl.div_rn(1.0, tl.sum(total * tl.exp(top - highest)))
    for start in range(0, cols, TILE_COLS):
        col = start + tl.arange(0, TILE_COLS).to(tl.int64)
        value = tl.load(x + row * x_row + col * x_col, mask=col < cols, other=-float("inf")).to(tl.float32)
        tl.store(y + row * cols + col, (tl.exp(value - highest) * scale).to(y.dtype.element_ty), mask=col < cols)


def softmax(x: torch.Tensor, y: torch.Tensor) -> None:
    rows, cols = x.shape
    if cols > WIDEST:
        _softmax_wide[(rows,)](x, y, cols, *x.stride(), TILE_COLS=TILE, num_warps=8)
        return
    tile_cols = triton.next_power_of_2(cols)
    tile_rows = min(max(1, TILE // tile_cols), triton.next_power_of_2(rows))
    _softmax[(triton.cdiv(rows, tile_rows),)](
        x,
        y,
        rows,
        cols,
        *x.stride(),
        TILE_ROWS=tile_rows,
        TILE_COLS=tile_cols,
        num_warps=min(max(1, tile_rows * tile_cols // 512), 16),
    )
