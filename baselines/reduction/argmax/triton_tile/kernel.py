"""Place of the largest value of each row (torch.argmax), bound by reading x once; NaN is greater than every number.

Values are compared by their bits: those of a float32, with the lower 31 of a negative one turned, are in its order as
integers, and NaN gets the largest of these.
"""

import torch
import triton
import triton.language as tl

TILE = 4096


@triton.jit
def _argmax(x, index, rows, cols, x_row, x_col, TILE_ROWS: tl.constexpr, TILE_COLS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * TILE_ROWS + tl.arange(0, TILE_ROWS)[:, None]
    # Each lane keeps a best value of its own and where it was; they meet after the last tile.
    best = tl.full([TILE_ROWS, TILE_COLS], -(2**31), tl.int32)
    place = tl.zeros([TILE_ROWS, TILE_COLS], tl.int32)
    for start in range(0, cols, TILE_COLS):
        col = start + tl.arange(0, TILE_COLS)[None, :]
        inside = (row < rows) & (col < cols)
        value = tl.load(x + row * x_row + col.to(tl.int64) * x_col, mask=inside, other=0.0).to(tl.float32)
        bits = (value + 0.0).to(tl.int32, bitcast=True)  # -0 becomes 0: the two are equal
        key = tl.where(bits < 0, bits ^ 0x7FFFFFFF, bits)
        key = tl.where(value != value, 0x7FFFFFFF, key)
        better = inside & (key > best)
        best = tl.where(better, key, best)
        place = tl.where(better, col, place)
    top = tl.max(best, axis=1, keep_dims=True)
    first = tl.min(tl.where(best == top, place, 0x7FFFFFFF), axis=1, keep_dims=True)
    tl.store(index + row, first.to(tl.int64), mask=row < rows)


def argmax(x: torch.Tensor, index: torch.Tensor) -> None:
    rows, cols = x.shape
    tile_cols = min(triton.next_power_of_2(cols), TILE)
    # Short rows share a program.
    tile_rows = min(TILE // tile_cols, triton.next_power_of_2(max(1, rows)))
    _argmax[(triton.cdiv(rows, tile_rows),)](
        x,
        index,
        rows,
        cols,
        *x.stride(),
        TILE_ROWS=tile_rows,
        TILE_COLS=tile_cols,
        num_warps=min(max(1, tile_rows * tile_cols // 512), 8),
    )
