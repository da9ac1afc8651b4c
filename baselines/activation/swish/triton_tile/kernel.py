"""Swish of every element, x / (1 + exp(-x)) (Ramachandran, Zoph and Le 2017), in tiles of 4096.

Without gaps the tensor is one long row; other layouts go in square tiles, coalesced along rows and columns alike.
"""

import torch
import triton
import triton.language as tl

TILE = 4096


@triton.jit
def _exp(x):
    # tl.exp multiplies by log2(e) in one piece and is off by |x| roundings; this, by Cody and Waite 1980, by about one:
    # x = n ln 2 + r with ln 2 in two pieces, a polynomial in r, and n added to the exponent.
    bounded = tl.minimum(tl.maximum(x, -87.0), 88.72)
    n = tl.floor(bounded * 1.44269504 + 0.5)
    r = (bounded - n * 0.693359375) + n * 2.12194440e-4
    q = r * 1.38145406e-3 + 8.36874545e-3
    q = q * r + 4.16683890e-2
    q = q * r + 1.66665211e-1
    q = q * r + 4.99999940e-1
    power = (q * r * r + r + 1.0).to(tl.int32, bitcast=True) + (n.to(tl.int32) << 23)
    return tl.where(x > 88.72, float("inf"), power.to(tl.float32, bitcast=True))


@triton.jit
def _swish(x, y, rows, cols, x_row, x_col, TILE_ROWS: tl.constexpr, TILE_COLS: tl.constexpr):
    across = tl.cdiv(cols, TILE_COLS)
    row = (tl.program_id(0) // across).to(tl.int64) * TILE_ROWS + tl.arange(0, TILE_ROWS)[:, None]
    col = (tl.program_id(0) % across).to(tl.int64) * TILE_COLS + tl.arange(0, TILE_COLS)[None, :]
    inside = (row < rows) & (col < cols)
    value = tl.load(x + row * x_row + col * x_col, mask=inside, other=0.0).to(tl.float32)
    result = tl.div_rn(value, 1.0 + _exp(-value))
    tl.store(y + row * cols + col, result.to(y.dtype.element_ty), mask=inside)


def swish(x: torch.Tensor, y: torch.Tensor) -> None:
    if x.numel() == 0:
        return
    if x.is_contiguous():
        x, y = x.view(1, -1), y.view(1, -1)
    rows, cols = x.shape
    tile_cols = min(triton.next_power_of_2(cols), TILE if rows == 1 else 64)
    tile_rows = min(TILE // tile_cols, triton.next_power_of_2(rows))
    _swish[(triton.cdiv(rows, tile_rows) * triton.cdiv(cols, tile_cols),)](
        x, y, rows, cols, *x.stride(), TILE_ROWS=tile_rows, TILE_COLS=tile_cols, num_warps=8
    )
