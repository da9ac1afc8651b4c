"""Five-point stencil, y = x + rate (up + down + left + right - 4 x) inside of each grid (Datta et al. 2008, section 2).

Each program has a tile of one grid and loads it five times, shifted; the L1 cache serves all of these but the first.
"""

import torch
import triton
import triton.language as tl

TILE = 2048


@triton.jit
def _stencil2d(
    x, y, rate, height, width, x_grid, x_row, x_col, TILE_ROWS: tl.constexpr, TILE_COLS: tl.constexpr
):  # fmt: skip
    across = tl.cdiv(width, TILE_COLS)
    line = tl.program_id(0) // across
    down = tl.cdiv(height, TILE_ROWS)
    grid = (line // down).to(tl.int64)
    row = (line % down * TILE_ROWS + tl.arange(0, TILE_ROWS).to(tl.int64))[:, None]
    col = (tl.program_id(0) % across * TILE_COLS + tl.arange(0, TILE_COLS).to(tl.int64))[None, :]
    inside = (row < height) & (col < width)
    # The border keeps its values, and has no neighbours to load.
    inner = (row > 0) & (row < height - 1) & (col > 0) & (col < width - 1)
    place = x + grid * x_grid + row * x_row + col * x_col
    centre = tl.load(place, mask=inside, other=0.0)
    here = centre.to(tl.float32)
    vertical = tl.load(place - x_row, mask=inner, other=0.0).to(tl.float32)
    vertical += tl.load(place + x_row, mask=inner, other=0.0).to(tl.float32)
    horizontal = tl.load(place - x_col, mask=inner, other=0.0).to(tl.float32)
    horizontal += tl.load(place + x_col, mask=inner, other=0.0).to(tl.float32)
    stepped = (here + rate * (vertical + horizontal - 4.0 * here)).to(centre.dtype)
    tl.store(y + (grid * height + row) * width + col, tl.where(inner, stepped, centre), mask=inside)


def stencil2d(x: torch.Tensor, rate: float, y: torch.Tensor) -> None:
    batch, height, width = x.shape
    # Long rows where neighbours in memory are columns; square tiles where they are rows.
    tile_cols = min(triton.next_power_of_2(width), 128 if x.stride(2) <= x.stride(1) else 32)
    tile_rows = min(TILE // tile_cols, triton.next_power_of_2(height))
    programs = batch * triton.cdiv(height, tile_rows) * triton.cdiv(width, tile_cols)
    _stencil2d[(programs,)](
        x, y, rate, height, width, *x.stride(), TILE_ROWS=tile_rows, TILE_COLS=tile_cols, num_warps=4
    )
