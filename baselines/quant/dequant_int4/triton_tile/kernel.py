"""Dequantisation of four-bit weights in groups of 128 (Frantar et al. 2022; Lin et al. 2023), in tiles of 2048 bytes.

The two halves of each byte become neighbours before they are stored, so that stores are as dense as loads.
"""

import torch
import triton
import triton.language as tl

GROUP_BYTES = tl.constexpr(64)
TILE = 2048


@triton.jit
def _dequantise(
    packed, scale, zero, y, rows, pairs, packed_row, packed_col, scale_row, scale_col, zero_row, zero_col,
    TILE_ROWS: tl.constexpr, TILE_COLS: tl.constexpr,
):  # fmt: skip
    across = tl.cdiv(pairs, TILE_COLS)
    row = (tl.program_id(0) // across).to(tl.int64) * TILE_ROWS + tl.arange(0, TILE_ROWS)[:, None]
    first = (tl.program_id(0) % across).to(tl.int64) * TILE_COLS
    byte = first + tl.arange(0, TILE_COLS)[None, :]
    inside = (row < rows) & (byte < pairs)
    code = tl.load(packed + row * packed_row + byte * packed_col, mask=inside, other=0).to(tl.int32)
    # Neighbours have the same scale and zero point: these loads hit the L1 cache.
    group = byte // GROUP_BYTES
    factor = tl.load(scale + row * scale_row + group * scale_col, mask=inside, other=0.0).to(tl.float32)
    offset = tl.load(zero + row * zero_row + group * zero_col, mask=inside, other=0).to(tl.int32)
    low = ((code & 15) - offset).to(tl.float32) * factor
    high = ((code >> 4) - offset).to(tl.float32) * factor
    col = 2 * first + tl.arange(0, 2 * TILE_COLS)[None, :]
    weight = tl.interleave(low, high).to(y.dtype.element_ty)
    tl.store(y + row * (2 * pairs) + col, weight, mask=(row < rows) & (col < 2 * pairs))


def dequant_int4(packed: torch.Tensor, scale: torch.Tensor, zero: torch.Tensor, y: torch.Tensor) -> None:
    rows, pairs = packed.shape
    if rows == 0:
        return
    tile_cols = min(triton.next_power_of_2(pairs), 1024 if packed.stride(1) == 1 else 64)
    tile_rows = min(TILE // tile_cols, triton.next_power_of_2(rows))
    _dequantise[(triton.cdiv(rows, tile_rows) * triton.cdiv(pairs, tile_cols),)](
        packed,
        scale,
        zero,
        y,
        rows,
        pairs,
        *packed.stride(),
        *scale.stride(),
        *zero.stride(),
        TILE_ROWS=tile_rows,
        TILE_COLS=tile_cols,
        num_warps=4,
    )
