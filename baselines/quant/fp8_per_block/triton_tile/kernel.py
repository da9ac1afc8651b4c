"""Conversion to MXFP8 (Rouhani et al. 2023, algorithm 1): 32 neighbours share a power of two, in tiles of 4096 values.

Codes are rounded by integer arithmetic on the bits, which every device and the interpreter do alike.
"""

import torch
import triton
import triton.language as tl

BLOCK = tl.constexpr(32)
TILE = 4096


@triton.jit
def _e4m3(value):
    # The codes of values that were scaled; beyond 448 comes 448.
    sign = (value.to(tl.int32, bitcast=True) >> 24) & 128
    size = tl.minimum(tl.abs(value), 448.0)
    bits = size.to(tl.int32, bitcast=True)
    # Three bits of the fraction stay, rounded to nearest even; a bias of 127 becomes one of 7.
    normal = ((bits + 0x7FFFF + ((bits >> 20) & 1)) >> 20) - (120 << 3)
    # Below 2^-6 codes count steps of 2^-9, which is that of float32 beside 2^14.
    subnormal = (size + 16384.0).to(tl.int32, bitcast=True) & 15
    return (tl.where(size < 0.015625, subnormal, normal) | sign).to(tl.uint8)


@triton.jit
def _convert(x, codes, scale, rows, cols, x_row, x_col, TILE_ROWS: tl.constexpr, BLOCKS: tl.constexpr):
    blocks = tl.cdiv(cols, BLOCK)
    across = tl.cdiv(blocks, BLOCKS)
    row = (tl.program_id(0) // across).to(tl.int64) * TILE_ROWS + tl.arange(0, TILE_ROWS)[:, None]
    block = (tl.program_id(0) % across) * BLOCKS + tl.arange(0, BLOCKS)[None, :]
    col = block[:, :, None].to(tl.int64) * BLOCK + tl.arange(0, BLOCK)[None, None, :]
    inside = (row[:, :, None] < rows) & (col < cols)
    value = tl.load(x + row[:, :, None] * x_row + col * x_col, mask=inside, other=0.0).to(tl.float32)
    # The exponent's bits, with a bias of 127, are eight less than those of the largest magnitude, and not below zero,
    # which stands for 2^-127, a subnormal number.
    top = tl.max(tl.abs(value), axis=2)
    exponent = tl.maximum((top.to(tl.int32, bitcast=True) >> 23) - 8, 0)
    power = tl.where(exponent == 0, 0x400000, exponent << 23).to(tl.float32, bitcast=True)
    inverse = ((254 - exponent) << 23).to(tl.float32, bitcast=True)
    tl.store(codes + row[:, :, None] * cols + col, _e4m3(value * inverse[:, :, None]), mask=inside)
    tl.store(scale + row * blocks + block, power, mask=(row < rows) & (block < blocks))


def fp8_per_block(x: torch.Tensor, codes: torch.Tensor, scale: torch.Tensor) -> None:
    rows, cols = x.shape
    if rows == 0:
        return
    blocks = min(triton.next_power_of_2(scale.shape[1]), TILE // 32)
    tile_rows = min(TILE // (32 * blocks), triton.next_power_of_2(rows))
    programs = triton.cdiv(rows, tile_rows) * triton.cdiv(scale.shape[1], blocks)
    _convert[(programs,)](x, codes, scale, rows, cols, *x.stride(), TILE_ROWS=tile_rows, BLOCKS=blocks, num_warps=8)
