"""Product of matrices of E4M3 numbers with scales by row and by column (Micikevicius et al. 2022), by output tiles.

Every such number is one of float16, too, so that tensor cores multiply them without an error. Their own products of
eight bits would keep too few bits of the sums.
"""

import torch
import triton
import triton.language as tl

GROUP = tl.constexpr(8)
# Exponents of E4M3 have a bias of 7, those of float16 one of 15: each factor comes as 2^-8 of itself.
UNDO = tl.constexpr(65536.0)


@triton.jit
def _half(code):
    # The sign moves to the top; exponent and fraction begin in the highest of their fields, also if subnormal.
    wide = code.to(tl.int16)
    return (((wide & 128) << 8) | ((wide & 127) << 7)).to(tl.float16, bitcast=True)


@triton.jit
def _linear(
    x, weight, x_scale, weight_scale, bias, y, batch, features, outputs, x_row, x_col, weight_row, weight_col,
    x_scale_place, weight_scale_place, bias_place, TILE_M: tl.constexpr, TILE_N: tl.constexpr, TILE_K: tl.constexpr,
):  # fmt: skip
    # Programs are numbered in groups of tile rows: those that run together share tiles in the L2 cache.
    tiles_m = tl.cdiv(batch, TILE_M)
    per_group = GROUP * tl.cdiv(outputs, TILE_N)
    first = tl.program_id(0) // per_group * GROUP
    height = tl.minimum(tiles_m - first, GROUP)
    inner = tl.program_id(0) % per_group
    row = (first + inner % height).to(tl.int64) * TILE_M + tl.arange(0, TILE_M)[:, None]
    col = (inner // height).to(tl.int64) * TILE_N + tl.arange(0, TILE_N)[None, :]
    depth = tl.arange(0, TILE_K).to(tl.int64)
    total = tl.zeros([TILE_M, TILE_N], tl.float32)
    for start in range(0, features, TILE_K):
        across, down = start + depth[None, :], start + depth[:, None]
        left = tl.load(x + row * x_row + across * x_col, mask=(row < batch) & (across < features), other=0)
        # Each output has its own row of weights: tiles are read transposed.
        right = tl.load(
            weight + col * weight_row + down * weight_col, mask=(col < outputs) & (down < features), other=0
        )
        total = tl.dot(_half(left), _half(right), total)
    row_scale = tl.load(x_scale + row * x_scale_place, mask=row < batch, other=0.0)
    col_scale = tl.load(weight_scale + col * weight_scale_place, mask=col < outputs, other=0.0)
    shift = tl.load(bias + col * bias_place, mask=col < outputs, other=0.0).to(tl.float32)
    result = total * UNDO * row_scale * col_scale + shift
    tl.store(y + row * outputs + col, result.to(y.dtype.element_ty), mask=(row < batch) & (col < outputs))


def fp8_scaled_gemm(
    x: torch.Tensor,
    weight: torch.Tensor,
    x_scale: torch.Tensor,
    weight_scale: torch.Tensor,
    bias: torch.Tensor,
    y: torch.Tensor,
) -> None:
    (batch, features), outputs = x.shape, weight.shape[0]
    tile_m, tile_n, warps = 128, 128, 8
    if batch <= 64:  # bound by reading the weights, for which more programs are better
        tile_n, warps = 32, 4
    tile_m = min(tile_m, max(16, triton.next_power_of_2(batch)))
    tile_n = min(tile_n, max(16, triton.next_power_of_2(outputs)))
    _linear[(triton.cdiv(batch, tile_m) * triton.cdiv(outputs, tile_n),)](
        x,
        weight,
        x_scale,
        weight_scale,
        bias,
        y,
        batch,
        features,
        outputs,
        *x.stride(),
        *weight.stride(),
        *x_scale.stride(),
        *weight_scale.stride(),
        *bias.stride(),
        TILE_M=tile_m,
        TILE_N=tile_n,
        TILE_K=64,
        num_warps=warps,
        num_stages=3,
    )
