"""Linear recurrence h = decay * h + x along each row as a scan of pairs (Blelloch 1990, section 1.4).

A stretch of a row makes factor * h + term of the h before it, and two neighbouring stretches join to one. A program
scans tiles of its rows in registers and carries the last h from tile to tile.
"""

import torch
import triton
import triton.language as tl

TILE = 2048


@triton.jit
def _join(left_factor, left_term, right_factor, right_term):
    return left_factor * right_factor, right_factor * left_term + right_term


@triton.jit
def _linear_recurrence(
    x, decay, h, rows, cols, x_row, x_col, decay_row, decay_col, TILE_ROWS: tl.constexpr, TILE_COLS: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64) * TILE_ROWS + tl.arange(0, TILE_ROWS)[:, None]
    place = tl.arange(0, TILE_COLS).to(tl.int64)[None, :]
    carry = tl.zeros([TILE_ROWS, 1], tl.float32)
    for start in range(0, cols, TILE_COLS):
        col = start + place
        inside = (row < rows) & (col < cols)
        term = tl.load(x + row * x_row + col * x_col, mask=inside, other=0.0).to(tl.float32)
        # Nothing comes before the first column: its factor plays no part, whatever it is.
        factor = tl.load(decay + row * decay_row + col * decay_col, mask=inside & (col > 0), other=0.0).to(tl.float32)
        factors, terms = tl.associative_scan((factor, term), 1, _join)
        result = factors * carry + terms
        tl.store(h + row * cols + col, result.to(h.dtype.element_ty), mask=inside)
        carry = tl.sum(tl.where(place == TILE_COLS - 1, result, 0.0), axis=1, keep_dims=True)


def linear_recurrence(x: torch.Tensor, decay: torch.Tensor, h: torch.Tensor) -> None:
    rows, cols = x.shape
    tile_cols = min(triton.next_power_of_2(cols), TILE)
    # Short rows share a program.
    tile_rows = min(TILE // tile_cols, triton.next_power_of_2(rows))
    _linear_recurrence[(triton.cdiv(rows, tile_rows),)](
        x,
        decay,
        h,
        rows,
        cols,
        *x.stride(),
        *decay.stride(),
        TILE_ROWS=tile_rows,
        TILE_COLS=tile_cols,
        num_warps=min(max(1, tile_rows * tile_cols // 512), 8),
    )
