"""Gradient of softmax (Bridle 1990), p * (grad_y - sum(grad_y * p)): programs hold whole rows of x and grad_y.

Rows too wide for that go through the online softmax of Milakov and Gimelshein (2018) in pieces, and are read twice.
"""

import torch
import triton
import triton.language as tl

TILE = 4096
WIDEST = 16384


@triton.jit
def _softmax_backward(
    grad_y, x, grad_x, rows, cols, grad_row, grad_col, x_row, x_col, TILE_ROWS: tl.constexpr, TILE_COLS: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64) * TILE_ROWS + tl.arange(0, TILE_ROWS)[:, None]
    col = tl.arange(0, TILE_COLS).to(tl.int64)[None, :]
    # Rows past the end repeat the last one; a row of padding only would compute inf - inf.
    source = tl.minimum(row, rows - 1)
    value = tl.load(x + source * x_row + col * x_col, mask=col < cols, other=-float("inf")).to(tl.float32)
    slope = tl.load(grad_y + source * grad_row + col * grad_col, mask=col < cols, other=0.0).to(tl.float32)
    power = tl.exp(value - tl.max(value, axis=1, keep_dims=True))
    scale = tl.div_rn(1.0, tl.sum(power, axis=1, keep_dims=True))
    mean = tl.sum(power * slope, axis=1, keep_dims=True) * scale
    result = power * scale * (slope - mean)
    tl.store(grad_x + row * cols + col, result.to(grad_x.dtype.element_ty), mask=(row < rows) & (col < cols))


@triton.jit
def _softmax_backward_wide(grad_y, x, grad_x, cols, grad_row, grad_col, x_row, x_col, TILE_COLS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    # Each lane keeps a maximum and sums of its own; they meet after the loop. The first maximum is finite: -inf minus
    # itself would be NaN.
    top = tl.full([TILE_COLS], -3.4e38, tl.float32)
    total = tl.zeros([TILE_COLS], tl.float32)
    product = tl.zeros([TILE_COLS], tl.float32)
    for start in range(0, cols, TILE_COLS):
        col = start + tl.arange(0, TILE_COLS).to(tl.int64)
        value = tl.load(x + row * x_row + col * x_col, mask=col < cols, other=-float("inf")).to(tl.float32)
        slope = tl.load(grad_y + row * grad_row + col * grad_col, mask=col < cols, other=0.0).to(tl.float32)
        higher = tl.maximum(top, value)
        shrink = tl.exp(top - higher)
        power = tl.exp(value - higher)
        total = total * shrink + power
        product = product * shrink + power * slope
        top = higher
    highest = tl.max(top)
    shrink = tl.exp(top - highest)
    scale = tl.div_rn(1.0, tl.sum(total * shrink))
    mean = tl.sum(product * shrink) * scale
    for start in range(0, cols, TILE_COLS):
        col = start + tl.arange(0, TILE_COLS).to(tl.int64)
        value = tl.load(x + row * x_row + col * x_col, mask=col < cols, other=-float("inf")).to(tl.float32)
        slope = tl.load(grad_y + row * grad_row + col * grad_col, mask=col < cols, other=0.0).to(tl.float32)
        result = tl.exp(value - highest) * scale * (slope - mean)
        tl.store(grad_x + row * cols + col, result.to(grad_x.dtype.element_ty), mask=col < cols)


def softmax_backward(grad_y: torch.Tensor, x: torch.Tensor, grad_x: torch.Tensor) -> None:
    rows, cols = x.shape
    strides = (*grad_y.stride(), *x.stride())
    if cols > WIDEST:
        _softmax_backward_wide[(rows,)](grad_y, x, grad_x, cols, *strides, TILE_COLS=TILE, num_warps=8)
        return
    tile_cols = triton.next_power_of_2(cols)
    tile_rows = min(max(1, TILE // tile_cols), triton.next_power_of_2(rows))
    _softmax_backward[(triton.cdiv(rows, tile_rows),)](
        grad_y,
        x,
        grad_x,
        rows,
        cols,
        *strides,
        TILE_ROWS=tile_rows,
        TILE_COLS=tile_cols,
        num_warps=min(max(1, tile_rows * tile_cols // 512), 16),
    )
