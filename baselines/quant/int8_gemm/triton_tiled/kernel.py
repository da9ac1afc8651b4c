"""Product of eight-bit integers with scales by row and by column (Jacob et al. 2017; Xiao et al. 2022), by tiles.

Tensor cores add products of integers, exactly; codes lose their zero point of 128 in registers.
"""

import torch
import triton
import triton.language as tl

GROUP = tl.constexpr(8)


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
    total = tl.zeros([TILE_M, TILE_N], tl.int32)
    for start in range(0, features, TILE_K):
        across, down = start + depth[None, :], start + depth[:, None]
        # Each output has its own row of weights: tiles are read transposed. Past the ends stand zeros, which are 128.
        left = tl.load(x + row * x_row + across * x_col, mask=(row < batch) & (across < features), other=128)
        right = tl.load(
            weight + col * weight_row + down * weight_col, mask=(col < outputs) & (down < features), other=128
        )
        # An integer loses 128 where its highest bit is turned over.
        left = (left ^ 128).to(tl.int8, bitcast=True)
        right = (right ^ 128).to(tl.int8, bitcast=True)
        total = tl.dot(left, right, total, out_dtype=tl.int32)
    row_scale = tl.load(x_scale + row * x_scale_place, mask=row < batch, other=0.0)
    col_scale = tl.load(weight_scale + col * weight_scale_place, mask=col < outputs, other=0.0)
    shift = tl.load(bias + col * bias_place, mask=col < outputs, other=0.0).to(tl.float32)
    result = total.to(tl.float32) * row_scale * col_scale + shift
    tl.store(y + row * outputs + col, result.to(y.dtype.element_ty), mask=(row < batch) & (col < outputs))


def int8_gemm(
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
        num_stages=4,
    )
