"""Product of a diagonal matrix and a dense one (Golub and Van Loan 2013, section 1.2.6): nothing but traffic."""

import torch
import triton
import triton.language as tl

TILE = 4096


@triton.jit
def _diagonal(d, b, c, rows, cols, d_row, b_row, b_col, TILE_ROWS: tl.constexpr, TILE_COLS: tl.constexpr):
    across = tl.cdiv(cols, TILE_COLS)
    row = (tl.program_id(0) // across).to(tl.int64) * TILE_ROWS + tl.arange(0, TILE_ROWS)[:, None]
    col = (tl.program_id(0) % across).to(tl.int64) * TILE_COLS + tl.arange(0, TILE_COLS)[None, :]
    inside = (row < rows) & (col < cols)
    factor = tl.load(d + row * d_row, mask=row < rows, other=0.0).to(tl.float32)
    value = tl.load(b + row * b_row + col * b_col, mask=inside, other=0.0).to(tl.float32)
    tl.store(c + row * cols + col, (factor * value).to(c.dtype.element_ty), mask=inside)


def diagonal(d: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> None:
    rows, cols = b.shape
    if rows == 0:  # a grid must have a program
        return
    tile_cols = min(triton.next_power_of_2(cols), TILE)
    tile_rows = min(TILE // tile_cols, triton.next_power_of_2(rows))
    _diagonal[(triton.cdiv(rows, tile_rows) * triton.cdiv(cols, tile_cols),)](
        d, b, c, rows, cols, *d.stride(), *b.stride(), TILE_ROWS=tile_rows, TILE_COLS=tile_cols, num_warps=8
    )
