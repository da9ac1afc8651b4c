"""Exponential moving average moved on by one step, decay a + (1 - decay) p (Polyak and Juditsky 1992), by tiles.

Without gaps the tensors are one long row; other layouts go in square tiles, coalesced along rows and columns alike.
"""

import torch
import triton
import triton.language as tl

TILE = 4096


@triton.jit
def _move_on(
    average, param, y, rows, cols, average_row, average_col, param_row, param_col, keep, add,
    TILE_ROWS: tl.constexpr, TILE_COLS: tl.constexpr,
):  # fmt: skip
    across = tl.cdiv(cols, TILE_COLS)
    row = (tl.program_id(0) // across).to(tl.int64) * TILE_ROWS + tl.arange(0, TILE_ROWS)[:, None]
    col = (tl.program_id(0) % across).to(tl.int64) * TILE_COLS + tl.arange(0, TILE_COLS)[None, :]
    inside = (row < rows) & (col < cols)
    a = tl.load(average + row * average_row + col * average_col, mask=inside, other=0.0).to(tl.float32)
    p = tl.load(param + row * param_row + col * param_col, mask=inside, other=0.0).to(tl.float32)
    tl.store(y + row * cols + col, (keep * a + add * p).to(y.dtype.element_ty), mask=inside)


def ema_update(average: torch.Tensor, param: torch.Tensor, decay: float, new_average: torch.Tensor) -> None:
    if average.numel() == 0:
        return
    if average.is_contiguous() and param.is_contiguous():
        average, param = average.view(1, -1), param.view(1, -1)
    rows, cols = average.shape
    tile_cols = min(triton.next_power_of_2(cols), TILE if rows == 1 else 64)
    tile_rows = min(TILE // tile_cols, triton.next_power_of_2(rows))
    # 1 - decay in float64: of a decay that was rounded to float32, few digits of it are left.
    _move_on[(triton.cdiv(rows, tile_rows) * triton.cdiv(cols, tile_cols),)](
        average,
        param,
        new_average,
        rows,
        cols,
        *average.stride(),
        *param.stride(),
        decay,
        1.0 - decay,
        TILE_ROWS=tile_rows,
        TILE_COLS=tile_cols,
        num_warps=8,
    )
