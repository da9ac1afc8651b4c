"""Gated GELU by the error function (Shazeer 2020, eq. 5), in tiles of 4096 elements.

Without gaps the tensors are one long row; other layouts go in square tiles, coalesced along rows and columns alike.
"""

import torch
import triton
import triton.language as tl

TILE = 4096


@triton.jit
def _geglu(
    gate, up, y, rows, cols, gate_row, gate_col, up_row, up_col, TILE_ROWS: tl.constexpr, TILE_COLS: tl.constexpr
):
    across = tl.cdiv(cols, TILE_COLS)
    row = (tl.program_id(0) // across).to(tl.int64) * TILE_ROWS + tl.arange(0, TILE_ROWS)[:, None]
    col = (tl.program_id(0) % across).to(tl.int64) * TILE_COLS + tl.arange(0, TILE_COLS)[None, :]
    inside = (row < rows) & (col < cols)
    value = tl.load(gate + row * gate_row + col * gate_col, mask=inside, other=0.0).to(tl.float32)
    factor = tl.load(up + row * up_row + col * up_col, mask=inside, other=0.0).to(tl.float32)
    result = 0.5 * value * (1.0 + tl.erf(value * 0.70710678)) * factor
    tl.store(y + row * cols + col, result.to(y.dtype.element_ty), mask=inside)


def geglu(gate: torch.Tensor, up: torch.Tensor, y: torch.Tensor) -> None:
    if gate.numel() == 0:
        return
    if gate.is_contiguous() and up.is_contiguous():
        gate, up, y = gate.view(1, -1), up.view(1, -1), y.view(1, -1)
    rows, cols = gate.shape
    tile_cols = min(triton.next_power_of_2(cols), TILE if rows == 1 else 64)
    tile_rows = min(TILE // tile_cols, triton.next_power_of_2(rows))
    _geglu[(triton.cdiv(rows, tile_rows) * triton.cdiv(cols, tile_cols),)](
        gate, up, y, rows, cols, *gate.stride(), *up.stride(), TILE_ROWS=tile_rows, TILE_COLS=tile_cols, num_warps=8
    )
