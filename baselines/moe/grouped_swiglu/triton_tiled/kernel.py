"""First half of experts with a gated unit (Shazeer 2020, eq. 5), on groups of rows (Gale et al. 2022), in one kernel.

Each program finds out whose rows its tile has, and shares tiles of x between both products, which are gated in
registers. Tensor cores for float16, IEEE float32 multiply-adds for float32.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def _gated(
    x, offsets, gate_weight, up_weight, y, experts, hidden, inner, most_tiles, x_row, x_col, offsets_place,
    gate_expert, gate_row, gate_col, up_expert, up_row, up_col,
    TILE_E: tl.constexpr, TILE_M: tl.constexpr, TILE_N: tl.constexpr, TILE_K: tl.constexpr,
):  # fmt: skip
    tile = tl.program_id(0) % most_tiles
    index = tl.arange(0, TILE_E)
    there = index < experts
    begin = tl.load(offsets + index * offsets_place, mask=there, other=0)
    end = tl.load(offsets + (index + 1) * offsets_place, mask=there, other=0)
    # Each expert's tiles begin with its rows. The one whose tiles end behind this one is the tile's own; there are
    # more programs than tiles, and for the last of them there is none.
    tiles = (end - begin + TILE_M - 1) // TILE_M
    last = tl.cumsum(tiles, axis=0)
    is_own = there & (last > tile) & (last - tiles <= tile)
    expert = tl.sum(tl.where(is_own, index, 0).to(tl.int64))
    first_row = tl.sum(tl.where(is_own, begin + (tile - (last - tiles)) * TILE_M, 0))
    end_row = tl.sum(tl.where(is_own, end, 0))
    row = first_row + tl.arange(0, TILE_M).to(tl.int64)[:, None]
    col = (tl.program_id(0) // most_tiles).to(tl.int64) * TILE_N + tl.arange(0, TILE_N)[None, :]
    depth = tl.arange(0, TILE_K).to(tl.int64)
    gate_tile = gate_weight + expert * gate_expert + col * gate_row
    up_tile = up_weight + expert * up_expert + col * up_row
    gate = tl.zeros([TILE_M, TILE_N], tl.float32)
    up = tl.zeros([TILE_M, TILE_N], tl.float32)
    for start in range(0, tl.where(end_row > first_row, hidden, 0), TILE_K):
        across, down = start + depth[None, :], start + depth[:, None]
        inside = (col < inner) & (down < hidden)
        left = tl.load(x + row * x_row + across * x_col, mask=(row < end_row) & (across < hidden), other=0.0)
        # Each feature has its own row of weights: tiles are read transposed.
        right = tl.load(gate_tile + down * gate_col, mask=inside, other=0.0)
        gate = tl.dot(left, right, gate, input_precision="ieee")
        right = tl.load(up_tile + down * up_col, mask=inside, other=0.0)
        up = tl.dot(left, right, up, input_precision="ieee")
    result = gate / (1.0 + tl.exp(-gate)) * up
    tl.store(y + row * inner + col, result.to(y.dtype.element_ty), mask=(row < end_row) & (col < inner))


def grouped_swiglu(
    x: torch.Tensor, offsets: torch.Tensor, gate_weight: torch.Tensor, up_weight: torch.Tensor, y: torch.Tensor
) -> None:
    (rows, hidden), (experts, inner, _) = x.shape, gate_weight.shape
    tile_m, warps = (64, 4) if x.dtype == torch.float32 else (128, 8)
    tile_m = min(tile_m, max(16, triton.next_power_of_2(triton.cdiv(rows, experts))))
    # Every expert with rows has at most one tile that is not full.
    most_tiles = rows // tile_m + min(rows, experts)
    _gated[(most_tiles * triton.cdiv(inner, 64),)](
        x,
        offsets,
        gate_weight,
        up_weight,
        y,
        experts,
        hidden,
        inner,
        most_tiles,
        *x.stride(),
        *offsets.stride(),
        *gate_weight.stride(),
        *up_weight.stride(),
        TILE_E=max(16, triton.next_power_of_2(experts)),
        TILE_M=tile_m,
        TILE_N=64,
        TILE_K=32,
        num_warps=warps if tile_m > 32 else 4,
        num_stages=3,
    )
