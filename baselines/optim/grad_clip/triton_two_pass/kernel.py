"""Clipping by the global norm (Pascanu et al. 2013, algorithm 1) of two gradients in two kernels.

A bounded number of programs takes tiles in turn and keeps float32 sums of squares; the second kernel's programs add
these, all the same way, and scale.
"""

import torch
import triton
import triton.language as tl

EPSILON = tl.constexpr(1e-6)
TILE = 4096
MAX_PROGRAMS = 1024


@triton.jit
def _tile(tile, across, TILE_ROWS: tl.constexpr, TILE_COLS: tl.constexpr):
    row = (tile // across).to(tl.int64) * TILE_ROWS + tl.arange(0, TILE_ROWS)[:, None]
    col = (tile % across).to(tl.int64) * TILE_COLS + tl.arange(0, TILE_COLS)[None, :]
    return row, col


@triton.jit
def _sum_squares(
    weight, bias, share, rows, cols, count, weight_row, weight_col, bias_place,
    TILE_ROWS: tl.constexpr, TILE_COLS: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    across = tl.cdiv(cols, TILE_COLS)
    # Each lane keeps a sum of its own; they meet after the last tile.
    of_weight = tl.zeros([TILE_ROWS, TILE_COLS], tl.float32)
    for tile in range(tl.program_id(0), tl.cdiv(rows, TILE_ROWS) * across, tl.num_programs(0)):
        row, col = _tile(tile, across, TILE_ROWS, TILE_COLS)
        inside = (row < rows) & (col < cols)
        value = tl.load(weight + row * weight_row + col * weight_col, mask=inside, other=0.0).to(tl.float32)
        of_weight += value * value
    of_bias = tl.zeros([TILE], tl.float32)
    for tile in range(tl.program_id(0), tl.cdiv(count, TILE), tl.num_programs(0)):
        place = tile * TILE + tl.arange(0, TILE).to(tl.int64)
        value = tl.load(bias + place * bias_place, mask=place < count, other=0.0).to(tl.float32)
        of_bias += value * value
    tl.store(share + tl.program_id(0), tl.sum(of_weight) + tl.sum(of_bias))


@triton.jit
def _clip(
    weight, bias, share, clipped_weight, clipped_bias, norm, rows, cols, count, weight_row, weight_col, bias_place,
    max_norm, TILE_ROWS: tl.constexpr, TILE_COLS: tl.constexpr, TILE: tl.constexpr, TILE_SHARES: tl.constexpr,
):  # fmt: skip
    index = tl.arange(0, TILE_SHARES)
    length = tl.sqrt_rn(tl.sum(tl.load(share + index, mask=index < tl.num_programs(0), other=0.0)))
    if tl.program_id(0) == 0:
        tl.store(norm, length.to(norm.dtype.element_ty))
    factor = tl.minimum(tl.div_rn(max_norm, length + EPSILON), 1.0)
    across = tl.cdiv(cols, TILE_COLS)
    for tile in range(tl.program_id(0), tl.cdiv(rows, TILE_ROWS) * across, tl.num_programs(0)):
        row, col = _tile(tile, across, TILE_ROWS, TILE_COLS)
        inside = (row < rows) & (col < cols)
        value = tl.load(weight + row * weight_row + col * weight_col, mask=inside, other=0.0).to(tl.float32)
        tl.store(clipped_weight + row * cols + col, (value * factor).to(norm.dtype.element_ty), mask=inside)
    for tile in range(tl.program_id(0), tl.cdiv(count, TILE), tl.num_programs(0)):
        place = tile * TILE + tl.arange(0, TILE).to(tl.int64)
        value = tl.load(bias + place * bias_place, mask=place < count, other=0.0).to(tl.float32)
        tl.store(clipped_bias + place, (value * factor).to(norm.dtype.element_ty), mask=place < count)


def grad_clip(
    weight_grad: torch.Tensor,
    bias_grad: torch.Tensor,
    max_norm: float,
    clipped_weight_grad: torch.Tensor,
    clipped_bias_grad: torch.Tensor,
    norm: torch.Tensor,
) -> None:
    if weight_grad.is_contiguous():  # one long row: no tile is partly empty
        weight_grad = weight_grad.view(1, -1)
    (rows, cols), count = weight_grad.shape, bias_grad.shape[0]
    tile_cols = min(triton.next_power_of_2(cols), TILE if rows == 1 else 64)
    tile_rows = min(TILE // tile_cols, triton.next_power_of_2(rows))
    tile = min(TILE, triton.next_power_of_2(count))
    tiles = max(triton.cdiv(rows, tile_rows) * triton.cdiv(cols, tile_cols), triton.cdiv(count, tile))
    programs = min(tiles, MAX_PROGRAMS)
    share = torch.empty(programs, dtype=torch.float32, device=norm.device)
    read = [weight_grad, bias_grad, share]
    sizes = [rows, cols, count, *weight_grad.stride(), *bias_grad.stride()]
    tiling = {"TILE_ROWS": tile_rows, "TILE_COLS": tile_cols, "TILE": tile, "num_warps": 8}
    _sum_squares[(programs,)](*read, *sizes, **tiling)
    _clip[(programs,)](
        *read,
        clipped_weight_grad,
        clipped_bias_grad,
        norm,
        *sizes,
        max_norm,
        **tiling,
        TILE_SHARES=triton.next_power_of_2(programs),
    )
