"""Log-sum-exp of each row in one pass: the running maximum and sum of Milakov and Gimelshein (2018), a pair a lane.

Lanes rescale on their own and meet once, after the last piece of the row.
"""

import torch
import triton
import triton.language as tl

TILE = 4096


@triton.jit
def _logsumexp(x, y, rows, cols, x_row, x_col, TILE_ROWS: tl.constexpr, TILE_COLS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * TILE_ROWS + tl.arange(0, TILE_ROWS)[:, None]
    # The first maximum is finite: -inf, which stands for what lies outside, minus itself would be NaN.
    top = tl.full([TILE_ROWS, TILE_COLS], -3.4e38, tl.float32)
    total = tl.zeros([TILE_ROWS, TILE_COLS], tl.float32)
    for start in range(0, cols, TILE_COLS):
        col = start + tl.arange(0, TILE_COLS).to(tl.int64)[None, :]
        inside = (row < rows) & (col < cols)
        value = tl.load(x + row * x_row + col * x_col, mask=inside, other=-float("inf")).to(tl.float32)
        higher = tl.maximum(top, value)
        total = total * tl.exp(top - higher) + tl.exp(value - higher)
        top = higher
    highest = tl.max(top, axis=1, keep_dims=True)
    total = tl.sum(total * tl.exp(top - highest), axis=1, keep_dims=True)
    tl.store(y + row, (tl.log(total) + highest).to(y.dtype.element_ty), mask=row < rows)


def logsumexp(x: torch.Tensor, y: torch.Tensor) -> None:
    rows, cols = x.shape
    tile_cols = min(triton.next_power_of_2(cols), TILE)
    tile_rows = min(TILE // tile_cols, triton.next_power_of_2(rows))
    _logsumexp[(triton.cdiv(rows, tile_rows),)](
        x, y, rows, cols, *x.stride(), TILE_ROWS=tile_rows, TILE_COLS=tile_cols, num_warps=8
    )
