"""Gradient of LayerNorm: a bounded number of programs walk over the rows, so x and grad_y are read only once.

With r = 1 / sqrt(variance + eps), n = (x - mean) * r and g = grad_y * weight (Ba, Kiros and Hinton 2016),
grad_x = r * (g - mean(g) - n * mean(g * n)). Each program keeps its shares of grad_weight, the sum of grad_y * n over
the rows, and of grad_bias, that of grad_y, in registers; a second kernel adds the shares in order.
"""

import torch
import triton
import triton.language as tl

EPSILON = tl.constexpr(1e-5)
TILE = 2048
MAX_PROGRAMS = 256


@triton.jit
def _grad_x(
    grad_y, x, weight, grad_x, shares, rows, cols,
    grad_row, grad_col, x_row, x_col, weight_col, TILE_ROWS: tl.constexpr, TILE_COLS: tl.constexpr,
):  # fmt: skip
    col = tl.arange(0, TILE_COLS).to(tl.int64)[None, :]
    weight_total = tl.zeros([TILE_ROWS, TILE_COLS], tl.float32)
    bias_total = tl.zeros([TILE_ROWS, TILE_COLS], tl.float32)
    first = tl.program_id(0).to(tl.int64) * TILE_ROWS
    for start in range(first, rows, tl.num_programs(0) * TILE_ROWS):
        row = start + tl.arange(0, TILE_ROWS)[:, None]
        inside = (row < rows) & (col < cols)
        value = tl.load(x + row * x_row + col * x_col, mask=inside, other=0.0).to(tl.float32)
        slope = tl.load(grad_y + row * grad_row + col * grad_col, mask=inside, other=0.0).to(tl.float32)
        centred = tl.where(inside, value - tl.sum(value, axis=1, keep_dims=True) / cols, 0.0)
        # The rounded mean leaves a small common offset; what is left of it after one more pass is negligible.
        centred = tl.where(inside, centred - tl.sum(centred, axis=1, keep_dims=True) / cols, 0.0)
        variance = tl.sum(centred * centred, axis=1, keep_dims=True) / cols
        scale = tl.div_rn(1.0, tl.sqrt_rn(variance + EPSILON))
        normed = centred * scale
        weight_total += slope * normed
        bias_total += slope
        scaled = slope * tl.load(weight + col * weight_col, mask=col < cols, other=0.0).to(tl.float32)
        level = tl.sum(scaled, axis=1, keep_dims=True) / cols
        along = tl.sum(scaled * normed, axis=1, keep_dims=True) / cols
        result = scale * (scaled - level - normed * along)
        tl.store(grad_x + row * cols + col, result.to(grad_x.dtype.element_ty), mask=inside)
    share = shares + tl.program_id(0).to(tl.int64) * 2 * cols + col
    tl.store(share, tl.sum(weight_total, axis=0, keep_dims=True), mask=col < cols)
    tl.store(share + cols, tl.sum(bias_total, axis=0, keep_dims=True), mask=col < cols)


@triton.jit
def _add_shares(shares, grad_weight, grad_bias, programs, cols, TILE_SHARES: tl.constexpr, TILE_COLS: tl.constexpr):
    col = tl.program_id(0).to(tl.int64) * TILE_COLS + tl.arange(0, TILE_COLS)[None, :]
    share = shares + tl.arange(0, TILE_SHARES)[:, None] * 2 * cols + col
    inside = (tl.arange(0, TILE_SHARES)[:, None] < programs) & (col < cols)
    total = tl.sum(tl.load(share, mask=inside, other=0.0), axis=0, keep_dims=True)
    tl.store(grad_weight + col, total.to(grad_weight.dtype.element_ty), mask=col < cols)
    total = tl.sum(tl.load(share + cols, mask=inside, other=0.0), axis=0, keep_dims=True)
    tl.store(grad_bias + col, total.to(grad_bias.dtype.element_ty), mask=col < cols)


def layernorm_backward(
    grad_y: torch.Tensor,
    x: torch.Tensor,
    weight: torch.Tensor,
    grad_x: torch.Tensor,
    grad_weight: torch.Tensor,
    grad_bias: torch.Tensor,
) -> None:
    rows, cols = x.shape
    tile_cols = triton.next_power_of_2(cols)
    tile_rows = min(max(1, TILE // tile_cols), triton.next_power_of_2(rows))
    programs = min(triton.cdiv(rows, tile_rows), MAX_PROGRAMS)
    shares = torch.empty((programs, 2, cols), dtype=torch.float32, device=x.device)
    _grad_x[(programs,)](
        grad_y,
        x,
        weight,
        grad_x,
        shares,
        rows,
        cols,
        *grad_y.stride(),
        *x.stride(),
        *weight.stride(),
        TILE_ROWS=tile_rows,
        TILE_COLS=tile_cols,
        num_warps=min(max(1, tile_rows * tile_cols // 256), 32),
    )
    tile_shares = triton.next_power_of_2(programs)
    tile_cols = min(tile_cols, 32)
    _add_shares[(triton.cdiv(cols, tile_cols),)](
        shares, grad_weight, grad_bias, programs, cols, TILE_SHARES=tile_shares, TILE_COLS=tile_cols
    )
