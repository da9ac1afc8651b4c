"""Luma, 0.299 red + 0.587 green + 0.114 blue (ITU-R BT.601), in tiles of 2048 pixels.

Planes without gaps are one long row; other layouts go in square tiles, coalesced along rows and columns alike.
"""

import torch
import triton
import triton.language as tl

TILE = 2048


@triton.jit
def _grayscale(
    x, y, rows, cols, x_image, x_colour, x_row, x_col,
    RED: tl.constexpr, GREEN: tl.constexpr, BLUE: tl.constexpr, SCALE: tl.constexpr,
    TILE_ROWS: tl.constexpr, TILE_COLS: tl.constexpr,
):  # fmt: skip
    image = tl.program_id(1).to(tl.int64)
    across = tl.cdiv(cols, TILE_COLS)
    row = (tl.program_id(0) // across).to(tl.int64) * TILE_ROWS + tl.arange(0, TILE_ROWS)[:, None]
    col = (tl.program_id(0) % across).to(tl.int64) * TILE_COLS + tl.arange(0, TILE_COLS)[None, :]
    inside = (row < rows) & (col < cols)
    place = x + image * x_image + row * x_row + col * x_col
    red = tl.load(place, mask=inside, other=0.0).to(tl.float32)
    green = tl.load(place + x_colour, mask=inside, other=0.0).to(tl.float32)
    blue = tl.load(place + 2 * x_colour, mask=inside, other=0.0).to(tl.float32)
    luma = (RED * red + GREEN * green + BLUE * blue) * SCALE
    tl.store(y + (image * rows + row) * cols + col, luma.to(y.dtype.element_ty), mask=inside)


def grayscale(x: torch.Tensor, y: torch.Tensor) -> None:
    (batch, _, rows, cols), (x_image, x_colour, x_row, x_col) = x.shape, x.stride()
    if batch == 0:
        return
    if x_row == cols * x_col:
        rows, cols = 1, rows * cols
    tile_cols = min(triton.next_power_of_2(cols), TILE if rows == 1 else 64)
    tile_rows = min(TILE // tile_cols, triton.next_power_of_2(rows))
    # An image is a step of the second axis, so that nothing is divided by its size.
    grid = (triton.cdiv(rows, tile_rows) * triton.cdiv(cols, tile_cols), batch)
    # Where colours cancel, rounding errors are all there is to see. Products of halves and these quotients have none;
    # those of floats are rounded before they are added, for a fused product would leave the rounding errors of others.
    unit = 1024 if x.dtype.itemsize == 2 else 1000
    _grayscale[grid](
        x,
        y,
        rows,
        cols,
        x_image,
        x_colour,
        x_row,
        x_col,
        RED=299 / unit,
        GREEN=587 / unit,
        BLUE=114 / unit,
        SCALE=unit / 1000,
        TILE_ROWS=tile_rows,
        TILE_COLS=tile_cols,
        num_warps=4,
        enable_fp_fusion=False,
    )
