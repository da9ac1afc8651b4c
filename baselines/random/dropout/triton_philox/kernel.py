"""Dropout (Srivastava et al. 2014) with the counter-based generator Philox (Salmon et al. 2011), as Triton offers it.

A draw has four numbers; its counter is the place of four neighbouring columns, its key the seed. A result depends on
nothing else, least of all on the layout of x.
"""

import torch
import triton
import triton.language as tl

TILE = 4096


@triton.jit
def _dropout(x, y, rows, cols, x_row, x_col, seed, threshold, scale, TILE_ROWS: tl.constexpr, TILE_DRAWS: tl.constexpr):
    draws = tl.cdiv(cols, 4)
    tiles = tl.cdiv(draws, TILE_DRAWS)
    row = (tl.program_id(0) // tiles).to(tl.int64) * TILE_ROWS + tl.arange(0, TILE_ROWS)[:, None]
    first = (tl.program_id(0) % tiles).to(tl.int64) * TILE_DRAWS
    one, two, three, four = tl.randint4x(seed, row * draws + first + tl.arange(0, TILE_DRAWS)[None, :])
    # Two pairs, then both of them, take turns column by column.
    drawn = tl.interleave(tl.interleave(one, three), tl.interleave(two, four))
    col = first * 4 + tl.arange(0, TILE_DRAWS * 4)[None, :]
    inside = (row < rows) & (col < cols)
    value = tl.load(x + row * x_row + col * x_col, mask=inside, other=0.0).to(tl.float32)
    kept = drawn.to(tl.uint32, bitcast=True).to(tl.int64) >= threshold
    result = tl.where(kept, value * scale, 0.0)
    tl.store(y + row * cols + col, result.to(y.dtype.element_ty), mask=inside)


def dropout(x: torch.Tensor, p: float, seed: int, y: torch.Tensor) -> None:
    rows, cols = x.shape
    tile_draws = min(triton.next_power_of_2(triton.cdiv(cols, 4)), 256)
    tile_rows = min(TILE // (4 * tile_draws), triton.next_power_of_2(max(1, rows)))
    _dropout[(triton.cdiv(rows, tile_rows) * triton.cdiv(cols, 4 * tile_draws),)](
        x,
        y,
        rows,
        cols,
        *x.stride(),
        seed,
        int(p * 2**32),  # that many of 2^32 draws are zeros
        1 / (1 - p) if p < 1 else 0.0,  # nothing is kept
        TILE_ROWS=tile_rows,
        TILE_DRAWS=tile_draws,
        num_warps=min(max(1, tile_rows * tile_draws // 128), 8),
    )
