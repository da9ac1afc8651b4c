"""Residual and RMSNorm (Zhang and Sennrich 2019, eq. 4): programs hold whole rows of h = x + residual in registers.

So x and residual are read once, h is written once, rounded, and not read again.
"""

import torch
import triton
import triton.language as tl

EPSILON = tl.constexpr(1e-6)
TILE = 4096


@triton.jit
def _add_and_normalise(
    x, residual, weight, y, updated, rows, cols, x_row, x_col, residual_row, residual_col, weight_col,
    TILE_ROWS: tl.constexpr, TILE_COLS: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64) * TILE_ROWS + tl.arange(0, TILE_ROWS)[:, None]
    col = tl.arange(0, TILE_COLS).to(tl.int64)[None, :]
    inside = (row < rows) & (col < cols)
    left = tl.load(x + row * x_row + col * x_col, mask=inside, other=0.0).to(tl.float32)
    right = tl.load(residual + row * residual_row + col * residual_col, mask=inside, other=0.0).to(tl.float32)
    gain = tl.load(weight + col * weight_col, mask=col < cols, other=0.0).to(tl.float32)
    stored = (left + right).to(updated.dtype.element_ty)
    tl.store(updated + row * cols + col, stored, mask=inside)
    value = stored.to(tl.float32)
    mean_square = tl.sum(value * value, axis=1, keep_dims=True) / cols
    # One scalar a row: the correctly rounded operations cost nothing, and tl.rsqrt is an approximation on a GPU.
    scale = tl.div_rn(1.0, tl.sqrt_rn(mean_square + EPSILON))
    tl.store(y + row * cols + col, (value * scale * gain).to(y.dtype.element_ty), mask=inside)


def rmsnorm_residual(
    x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor, y: torch.Tensor, updated_residual: torch.Tensor
) -> None:
    rows, cols = x.shape
    tile_cols = triton.next_power_of_2(cols)
    # Short rows share a program: a tile of one row of 16 would leave most lanes idle.
    tile_rows = min(max(1, TILE // tile_cols), triton.next_power_of_2(rows))
    _add_and_normalise[(triton.cdiv(rows, tile_rows),)](
        x,
        residual,
        weight,
        y,
        updated_residual,
        rows,
        cols,
        *x.stride(),
        *residual.stride(),
        *weight.stride(),
        TILE_ROWS=tile_rows,
        TILE_COLS=tile_cols,
        num_warps=min(max(1, tile_rows * tile_cols // 512), 16),
    )
