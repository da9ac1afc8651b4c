"""Mean Huber loss (Huber 1964) in one pass over both tensors.

A bounded number of programs takes tiles in turn and keeps float32 sums; a second kernel adds these in order.
"""

import torch
import triton
import triton.language as tl

TILE = 4096
MAX_PROGRAMS = 1024


@triton.jit
def _add_terms(
    prediction, target, share, rows, cols, prediction_row, prediction_col, target_row, target_col,
    TILE_ROWS: tl.constexpr, TILE_COLS: tl.constexpr,
):  # fmt: skip
    across = tl.cdiv(cols, TILE_COLS)
    tiles = tl.cdiv(rows, TILE_ROWS) * across
    # Each lane keeps a sum of its own; they meet after the last tile.
    total = tl.zeros([TILE_ROWS, TILE_COLS], tl.float32)
    for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):
        row = (tile // across).to(tl.int64) * TILE_ROWS + tl.arange(0, TILE_ROWS)[:, None]
        col = (tile % across).to(tl.int64) * TILE_COLS + tl.arange(0, TILE_COLS)[None, :]
        inside = (row < rows) & (col < cols)
        left = tl.load(prediction + row * prediction_row + col * prediction_col, mask=inside, other=0.0)
        right = tl.load(target + row * target_row + col * target_col, mask=inside, other=0.0)
        # b (d - b / 2) with b = min(d, 1) is d^2 / 2 up to one and d - 1/2 beyond.
        distance = tl.abs(left.to(tl.float32) - right.to(tl.float32))
        bounded = tl.minimum(distance, 1.0)
        total += bounded * (distance - 0.5 * bounded)
    tl.store(share + tl.program_id(0), tl.sum(total))


@triton.jit
def _average(share, loss, shares, size, TILE_SHARES: tl.constexpr):
    index = tl.arange(0, TILE_SHARES)
    total = tl.sum(tl.load(share + index, mask=index < shares, other=0.0))
    tl.store(loss, (total / size).to(loss.dtype.element_ty))


def huber(prediction: torch.Tensor, target: torch.Tensor, loss: torch.Tensor) -> None:
    if prediction.is_contiguous() and target.is_contiguous():  # one long row: no tile is partly empty
        prediction, target = prediction.view(1, -1), target.view(1, -1)
    elif prediction.stride(0) < prediction.stride(1):  # neighbours in memory are rows
        prediction, target = prediction.T, target.T
    rows, cols = prediction.shape
    tile_cols = min(triton.next_power_of_2(cols), 1024 if rows > 1 else TILE)
    tile_rows = min(TILE // tile_cols, triton.next_power_of_2(rows))
    programs = min(triton.cdiv(rows, tile_rows) * triton.cdiv(cols, tile_cols), MAX_PROGRAMS)
    share = torch.empty(programs, dtype=torch.float32, device=loss.device)
    _add_terms[(programs,)](
        prediction,
        target,
        share,
        rows,
        cols,
        *prediction.stride(),
        *target.stride(),
        TILE_ROWS=tile_rows,
        TILE_COLS=tile_cols,
        num_warps=min(max(1, tile_rows * tile_cols // 512), 8),
    )
    _average[(1,)](share, loss, programs, rows * cols, TILE_SHARES=triton.next_power_of_2(programs))
