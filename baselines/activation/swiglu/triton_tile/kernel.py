"""Gated swish, gate / (1 + exp(-gate)) * up (Shazeer 2020, eq. 5), in tiles of 4096 elements.

Without gaps the tensors are one long row; other layouts go in square tiles, coalesced along rows and columns alike.
"""

import torch
import triton
import triton.language as tl

TILE = 4096


@triton.jit
def _exp(x):
    # tl.exp multiplies by log2(e) in one piece and is off by |x| roundings; this, by Cody and Waite 1980, by about one:
    # x = n ln 2 + r with ln 2 in two pieces, a polynomial in r, and n added to the exponent.
    bounded = tl.minimum(tl.maximum(x, -87.0), 88.72)
    n = tl.floor(bounded * 1.44269504 + 0.5)
    r = (bounded - n * 0.693359375) + n * 2.12194440e-4
    q = r * 1.38145406e-3 + 8.36874545e-3
    q = q * r + 4.16683890e-2
    q = q * r + 1.66665211e-1
    q = q * r + 4.99999940e-1
    power = (q * r * r + r + 1.0).to(tl.int32, bitcast=True) + (n.to(tl.int32) << 23)
    return tl.where(x > 88.72, float("inf"), power.to(tl.float32, bitcast=True))


@triton.jit
def _swiglu(
    gate, up, y, rows, cols, gate_row, gate_col, up_row, up_col, TILE_ROWS: tl.constexpr, TILE_COLS: tl.constexpr
):
    across = tl.cdiv(cols, TILE_COLS)
    row = (tl.program_id(0) // across).to(tl.int64) * TILE_ROWS + tl.arange(0, TILE_ROWS)[:, None]
    col = (tl.program_id(0) % across).to(tl.int64) * TILE_COLS + tl.arange(0, TILE_COLS)[None, :]
    inside = (row < rows) & (col < cols)
    value = tl.load(gate + row * gate_row + col * gate_col, mask=inside, other=0.0).to(tl.float32)
    factor = tl.load(up + row * up_row + col * up_col, mask=inside, other=0.0).to(tl.float32)
    result = tl.div_rn(value, 1.0 + _exp(-value)) * factor
    tl.store(y + row * cols + col, result.to(y.dtype.element_ty), mask=inside)


def swiglu(gate: torch.Tensor, up: torch.Tensor, y: torch.Tensor) -> None:
    if gate.numel() == 0:
        return
    if gate.is_contiguous() and up.is_contiguous():
        gate, up, y = gate.view(1, -1), up.view(1, -1), y.view(1, -1)
    rows, cols = gate.shape
    tile_cols = min(triton.next_power_of_2(cols), TILE if rows == 1 else 64)
    tile_rows = min(TILE // tile_cols, triton.next_power_of_2(rows))
    _swiglu[(triton.cdiv(rows, tile_rows) * triton.cdiv(cols, tile_cols),)](
        gate, up, y, rows, cols, *gate.stride(), *up.stride(), TILE_ROWS=tile_rows, TILE_COLS=tile_cols, num_warps=8
    )
