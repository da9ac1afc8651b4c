"""Symmetric quantisation of each token to eight bits, with a power of two as scale (Dettmers et al. 2022, section 2).

Programs hold whole rows in registers, so that x is read only once; rows too wide for that are read twice, in pieces.
"""

import torch
import triton
import triton.language as tl

MAGIC = tl.constexpr(12582912.0)  # 1.5 * 2^23: a sum with it is rounded to an integer, in its low bits
TILE = 4096
WIDEST = 16384


@triton.jit
def _exponent(top):
    # Of the smallest power of two, from 2^-126 on, of which 127 reach top, with the bias; that of one for zero. A
    # fraction above that of 127, 0x7e0000, carries over into the exponent; six less is a seventh, and the bias.
    carried = ((top.to(tl.int32, bitcast=True) + 0x1FFFF) >> 23) - 6
    return tl.where(top == 0.0, 127, tl.maximum(carried, 1))


@triton.jit
def _codes(value, exponent):
    # A product with a power of two is exact, or so small that its code is zero.
    inverse = ((254 - exponent) << 23).to(tl.float32, bitcast=True)
    bits = (value * inverse + MAGIC).to(tl.int32, bitcast=True)
    return ((bits + 128) & 255).to(tl.uint8)


@triton.jit
def _quantise(x, codes, scale, tokens, width, x_row, x_col, TILE_ROWS: tl.constexpr, TILE_COLS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * TILE_ROWS + tl.arange(0, TILE_ROWS)[:, None]
    col = tl.arange(0, TILE_COLS).to(tl.int64)[None, :]
    inside = (row < tokens) & (col < width)
    value = tl.load(x + row * x_row + col * x_col, mask=inside, other=0.0).to(tl.float32)
    exponent = _exponent(tl.max(tl.abs(value), axis=1, keep_dims=True))
    tl.store(codes + row * width + col, _codes(value, exponent), mask=inside)
    tl.store(scale + row, (exponent << 23).to(tl.float32, bitcast=True), mask=row < tokens)


@triton.jit
def _quantise_wide(x, codes, scale, width, x_row, x_col, TILE_COLS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    # Each lane keeps a maximum of its own; they meet after the loop.
    top = tl.zeros([TILE_COLS], tl.float32)
    for start in range(0, width, TILE_COLS):
        col = start + tl.arange(0, TILE_COLS).to(tl.int64)
        value = tl.load(x + row * x_row + col * x_col, mask=col < width, other=0.0).to(tl.float32)
        top = tl.maximum(top, tl.abs(value))
    exponent = _exponent(tl.max(top))
    for start in range(0, width, TILE_COLS):
        col = start + tl.arange(0, TILE_COLS).to(tl.int64)
        value = tl.load(x + row * x_row + col * x_col, mask=col < width, other=0.0).to(tl.float32)
        tl.store(codes + row * width + col, _codes(value, exponent), mask=col < width)
    tl.store(scale + row, (exponent << 23).to(tl.float32, bitcast=True))


def int8_per_token(x: torch.Tensor, codes: torch.Tensor, scale: torch.Tensor) -> None:
    tokens, width = x.shape
    if tokens == 0:
        return
    if width > WIDEST:
        _quantise_wide[(tokens,)](x, codes, scale, width, *x.stride(), TILE_COLS=TILE, num_warps=8)
        return
    tile_cols = triton.next_power_of_2(width)
    # Short rows share a program.
    tile_rows = min(max(1, TILE // tile_cols), triton.next_power_of_2(tokens))
    _quantise[(triton.cdiv(tokens, tile_rows),)](
        x,
        codes,
        scale,
        tokens,
        width,
        *x.stride(),
        TILE_ROWS=tile_rows,
        TILE_COLS=tile_cols,
        num_warps=min(max(1, tile_rows * tile_cols // 512), 16),
    )
