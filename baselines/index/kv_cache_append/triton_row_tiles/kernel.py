"""Append to a rolling cache (Jiang et al. 2023, section 2): each program writes a tile of one sequence's buffer.

A row of it comes from the new ones or from the cache; what is replaced is not read.
"""

import torch
import triton
import triton.language as tl

TILE = 4096
WIDEST = 2048


@triton.jit
def _append(
    cache, new, start, y, capacity, count, width, cache_batch, cache_row, cache_col,
    new_batch, new_row, new_col, start_place, TILE_ROWS: tl.constexpr, TILE_COLS: tl.constexpr,
):  # fmt: skip
    tiles_rows = tl.cdiv(capacity, TILE_ROWS)
    tiles_cols = tl.cdiv(width, TILE_COLS)
    tile = tl.program_id(0)
    batch = (tile // tiles_cols // tiles_rows).to(tl.int64)
    row = (tile // tiles_cols % tiles_rows).to(tl.int64) * TILE_ROWS + tl.arange(0, TILE_ROWS)[:, None]
    col = (tile % tiles_cols).to(tl.int64) * TILE_COLS + tl.arange(0, TILE_COLS)[None, :]
    inside = (row < capacity) & (col < width)
    # How far a row lies behind the first new one, around the end of the buffer.
    back = row - tl.load(start + batch * start_place)
    ahead = tl.where(back < 0, back + capacity, back)
    fresh = ahead < count
    kept = cache + batch * cache_batch + row * cache_row + col * cache_col
    added = new + batch * new_batch + ahead * new_row + col * new_col
    value = tl.where(
        fresh, tl.load(added, mask=inside & fresh, other=0.0), tl.load(kept, mask=inside & ~fresh, other=0.0)
    )
    tl.store(y + (batch * capacity + row) * width + col, value, mask=inside)


def kv_cache_append(cache: torch.Tensor, new: torch.Tensor, start: torch.Tensor, y: torch.Tensor) -> None:
    batch, capacity, width = cache.shape
    tile_cols = min(triton.next_power_of_2(width), WIDEST)
    tile_rows = min(TILE // tile_cols, triton.next_power_of_2(capacity))
    _append[(batch * triton.cdiv(capacity, tile_rows) * triton.cdiv(width, tile_cols),)](
        cache,
        new,
        start,
        y,
        capacity,
        new.shape[1],
        width,
        *cache.stride(),
        *new.stride(),
        *start.stride(),
        TILE_ROWS=tile_rows,
        TILE_COLS=tile_cols,
        num_warps=min(max(1, tile_rows * tile_cols // 512), 8),
    )
