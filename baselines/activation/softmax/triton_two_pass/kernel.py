"""Softmax in two passes over pieces of rows: the online one of Milakov and Gimelshein (2018), then the result.

Any width runs in the same few registers, but x is read twice, the second time mostly from the L2 cache.
"""

import torch
import triton
import triton.language as tl

LOWEST = tl.constexpr(-3.4e38)  # unlike -inf, it can be subtracted from itself
TILE = 2048
PIECE = 1024


@triton.jit
def _softmax(x, y, rows, cols, x_row, x_col, TILE_ROWS: tl.constexpr, TILE_COLS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * TILE_ROWS + tl.arange(0, TILE_ROWS)[:, None]
    top = tl.full([TILE_ROWS, 1], LOWEST, tl.float32)
    total = tl.zeros([TILE_ROWS, 1], tl.float32)
    for start in range(0, cols, TILE_COLS):
        col = start + tl.arange(0, TILE_COLS).to(tl.int64)[None, :]
        inside = (row < rows) & (col < cols)
        value = tl.load(x + row * x_row + col * x_col, mask=inside, other=-float("inf")).to(tl.float32)
        higher = tl.maximum(top, tl.max(value, axis=1, keep_dims=True))
        total = total * tl.exp(top - higher) + tl.sum(tl.exp(value - higher), axis=1, keep_dims=True)
        top = higher
    # Rows past the end have a sum of zero.
    scale = tl.div_rn(1.0, tl.where(row < rows, total, 1.0))
    for start in range(0, cols, TILE_COLS):
        col = start + tl.arange(0, TILE_COLS).to(tl.int64)[None, :]
        inside = (row < rows) & (col < cols)
        value = tl.load(x + row * x_row + col * x_col, mask=inside, other=-float("inf")).to(tl.float32)
        tl.store(y + row * cols + col, (tl.exp(value - top) * scale).to(y.dtype.element_ty), mask=inside)


def softmax(x: torch.Tensor, y: torch.Tensor) -> None:
    rows, cols = x.shape
    tile_cols = min(triton.next_power_of_2(cols), PIECE)
    # Short rows share a program.
    tile_rows = min(TILE // tile_cols, triton.next_power_of_2(rows)) if cols < PIECE else 1
    _softmax[(triton.cdiv(rows, tile_rows),)](
        x, y, rows, cols, *x.stride(), TILE_ROWS=tile_rows, TILE_COLS=tile_cols, num_warps=4
    )
