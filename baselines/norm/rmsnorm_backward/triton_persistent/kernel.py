"""Gradient of RMSNorm: a bounded number of programs walk over the rows, so x and grad_y are read only once.

With r = 1 / sqrt(mean(x^2) + eps) and g = grad_y * weight, grad_x = r * (g - x * r^2 * mean(g * x)). Each program keeps
its share of grad_weight = sum over rows of grad_y * x * r in registers; a second kernel adds the shares in order.
"""

import torch
import triton
import triton.language as tl

EPSILON = tl.constexpr(1e-6)
TILE = 2048
MAX_PROGRAMS = 256


@triton.jit
def _grad_x(
    grad_y, x, weight, grad_x, share, rows, cols,
    grad_row, grad_col, x_row, x_col, weight_col, TILE_ROWS: tl.constexpr, TILE_COLS: tl.constexpr,
):  # fmt: skip
    col = tl.arange(0, TILE_COLS).to(tl.int64)[None, :]
    total = tl.zeros([TILE_ROWS, TILE_COLS], tl.float32)
    first = tl.program_id(0).to(tl.int64) * TILE_ROWS
    for start in range(first, rows, tl.num_programs(0) * TILE_ROWS):
        row = start + tl.arange(0, TILE_ROWS)[:, None]
        inside = (row < rows) & (col < cols)
        value = tl.load(x + row * x_row + col * x_col, mask=inside, other=0.0).to(tl.float32)
        slope = tl.load(grad_y + row * grad_row + col * grad_col, mask=inside, other=0.0).to(tl.float32)
        mean_square = tl.sum(value * value, axis=1, keep_dims=True) / cols
        scale = tl.div_rn(1.0, tl.sqrt_rn(mean_square + EPSILON))
        total += slope * value * scale
        # g = rest + along * x with rest orthogonal to x. The formula cancels where g is almost parallel to x, as in
        # short rows; a second projection removes what rounding left of x (Giraud, Langou and Rozloznik 2005).
        rest = slope * tl.load(weight + col * weight_col, mask=col < cols, other=0.0).to(tl.float32)
        square = tl.maximum(mean_square, 1e-30)
        along = tl.sum(rest * value, axis=1, keep_dims=True) / cols / square
        rest -= along * value
        slip = tl.sum(rest * value, axis=1, keep_dims=True) / cols / square
        rest -= slip * value
        result = scale * (rest + (along + slip) * (EPSILON * scale * scale) * value)
        tl.store(grad_x + row * cols + col, result.to(grad_x.dtype.element_ty), mask=inside)
    partial = tl.sum(total, axis=0, keep_dims=True)
    tl.store(share + tl.program_id(0).to(tl.int64) * cols + col, partial, mask=col < cols)


@triton.jit
def _grad_weight(share, grad_weight, shares, cols, TILE_SHARES: tl.constexpr, TILE_COLS: tl.constexpr):
    col = tl.program_id(0).to(tl.int64) * TILE_COLS + tl.arange(0, TILE_COLS)[None, :]
    row = tl.arange(0, TILE_SHARES)[:, None]
    value = tl.load(share + row * cols + col, mask=(row < shares) & (col < cols), other=0.0)
    total = tl.sum(value, axis=0, keep_dims=True)
    tl.store(grad_weight + col, total.to(grad_weight.dtype.element_ty), mask=col < cols)


def rmsnorm_backward(
    grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, grad_x: torch.Tensor, grad_weight: torch.Tensor
) -> None:
    rows, cols = x.shape
    tile_cols = triton.next_power_of_2(cols)
    tile_rows = min(max(1, TILE // tile_cols), triton.next_power_of_2(rows))
    programs = min(triton.cdiv(rows, tile_rows), MAX_PROGRAMS)
    share = torch.empty((programs, cols), dtype=torch.float32, device=x.device)
    _grad_x[(programs,)](
        grad_y,
        x,
        weight,
        grad_x,
        share,
        rows,
        cols,
        *grad_y.stride(),
        *x.stride(),
        *weight.stride(),
        TILE_ROWS=tile_rows,
        TILE_COLS=tile_cols,
        num_warps=min(max(1, tile_rows * tile_cols // 256), 16),
    )
    tile_shares = triton.next_power_of_2(programs)
    tile_cols = min(tile_cols, 32)
    _grad_weight[(triton.cdiv(cols, tile_cols),)](
        share, grad_weight, programs, cols, TILE_SHARES=tile_shares, TILE_COLS=tile_cols
    )
