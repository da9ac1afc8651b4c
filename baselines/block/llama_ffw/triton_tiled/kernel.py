"""Gated feed-forward block of Llama, (silu(x Wg^T) * (x Wu^T)) Wd^T (Shazeer 2020, eq. 6), in two kernels.

The first shares tiles of x between both of its products and gates them in registers; only the gated values are stored.
Tensor cores for float16, IEEE float32 multiply-adds for float32.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def _gate(
    x, gate_weight, up_weight, gated, tokens, hidden, inner, x_row, x_col, gate_row, gate_col, up_row, up_col,
    TILE_M: tl.constexpr, TILE_N: tl.constexpr, TILE_K: tl.constexpr,
):  # fmt: skip
    tiles_m = tl.cdiv(tokens, TILE_M)
    row = (tl.program_id(0) % tiles_m).to(tl.int64) * TILE_M + tl.arange(0, TILE_M)[:, None]
    col = (tl.program_id(0) // tiles_m).to(tl.int64) * TILE_N + tl.arange(0, TILE_N)[None, :]
    depth = tl.arange(0, TILE_K).to(tl.int64)
    gate = tl.zeros([TILE_M, TILE_N], tl.float32)
    up = tl.zeros([TILE_M, TILE_N], tl.float32)
    for start in range(0, hidden, TILE_K):
        across, down = start + depth[None, :], start + depth[:, None]
        inside = (col < inner) & (down < hidden)
        left = tl.load(x + row * x_row + across * x_col, mask=(row < tokens) & (across < hidden), other=0.0)
        # Each feature has its own row of weights: tiles are read transposed.
        right = tl.load(gate_weight + col * gate_row + down * gate_col, mask=inside, other=0.0)
        gate = tl.dot(left, right, gate, input_precision="ieee")
        right = tl.load(up_weight + col * up_row + down * up_col, mask=inside, other=0.0)
        up = tl.dot(left, right, up, input_precision="ieee")
    result = gate / (1.0 + tl.exp(-gate)) * up
    tl.store(gated + row * inner + col, result.to(gated.dtype.element_ty), mask=(row < tokens) & (col < inner))


@triton.jit
def _down(
    gated, down_weight, y, tokens, hidden, inner, down_row, down_col,
    TILE_M: tl.constexpr, TILE_N: tl.constexpr, TILE_K: tl.constexpr,
):  # fmt: skip
    tiles_m = tl.cdiv(tokens, TILE_M)
    row = (tl.program_id(0) % tiles_m).to(tl.int64) * TILE_M + tl.arange(0, TILE_M)[:, None]
    col = (tl.program_id(0) // tiles_m).to(tl.int64) * TILE_N + tl.arange(0, TILE_N)[None, :]
    depth = tl.arange(0, TILE_K).to(tl.int64)
    total = tl.zeros([TILE_M, TILE_N], tl.float32)
    for start in range(0, inner, TILE_K):
        across, down = start + depth[None, :], start + depth[:, None]
        left = tl.load(gated + row * inner + across, mask=(row < tokens) & (across < inner), other=0.0)
        weight = down_weight + col * down_row + down * down_col
        right = tl.load(weight, mask=(col < hidden) & (down < inner), other=0.0)
        total = tl.dot(left, right, total, input_precision="ieee")
    tl.store(y + row * hidden + col, total.to(y.dtype.element_ty), mask=(row < tokens) & (col < hidden))


def llama_ffw(
    x: torch.Tensor, gate_weight: torch.Tensor, up_weight: torch.Tensor, down_weight: torch.Tensor, y: torch.Tensor
) -> None:
    (tokens, hidden), inner = x.shape, len(gate_weight)
    gated = torch.empty((tokens, inner), dtype=x.dtype, device=x.device)
    tile_m, warps = (64, 4) if x.dtype == torch.float32 else (128, 8)
    tile_m = min(tile_m, max(16, triton.next_power_of_2(tokens)))
    tiles_m = triton.cdiv(tokens, tile_m)
    sizes = {"TILE_M": tile_m, "TILE_N": 64, "TILE_K": 32, "num_warps": warps, "num_stages": 3}
    _gate[(tiles_m * triton.cdiv(inner, 64),)](
        x,
        gate_weight,
        up_weight,
        gated,
        tokens,
        hidden,
        inner,
        *x.stride(),
        *gate_weight.stride(),
        *up_weight.stride(),
        **sizes,
    )
    _down[(tiles_m * triton.cdiv(hidden, 64),)](
        gated, down_weight, y, tokens, hidden, inner, *down_weight.stride(), **sizes
    )
