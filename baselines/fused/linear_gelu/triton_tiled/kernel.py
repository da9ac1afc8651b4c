"""Linear layer and GELU by the error function (Hendrycks and Gimpel 2016) by output tiles.

Tensor cores for float16, IEEE float32 multiply-adds for float32. Bias and GELU are applied to the accumulator, before
anything is rounded or stored. Programs are numbered in groups of tile rows, so that those running together share tiles
in the L2 cache.
"""

import torch
import triton
import triton.language as tl

GROUP = tl.constexpr(8)


@triton.jit
def _linear_gelu(
    x, weight, bias, y, batch, outputs, inputs, x_row, x_col, weight_row, weight_col, bias_col,
    TILE_M: tl.constexpr, TILE_N: tl.constexpr, TILE_K: tl.constexpr,
):  # fmt: skip
    tiles_m = tl.cdiv(batch, TILE_M)
    per_group = GROUP * tl.cdiv(outputs, TILE_N)
    first = tl.program_id(0) // per_group * GROUP
    height = tl.minimum(tiles_m - first, GROUP)
    inner = tl.program_id(0) % per_group
    row = (first + inner % height).to(tl.int64) * TILE_M + tl.arange(0, TILE_M)[:, None]
    col = (inner // height).to(tl.int64) * TILE_N + tl.arange(0, TILE_N)[None, :]
    depth = tl.arange(0, TILE_K).to(tl.int64)
    x_tile = x + row * x_row + depth[None, :] * x_col
    # Each output column has its own row of weight: the tile is read transposed.
    weight_tile = weight + col * weight_row + depth[:, None] * weight_col
    total = tl.zeros([TILE_M, TILE_N], tl.float32)
    for start in range(0, inputs, TILE_K):
        left = tl.load(x_tile, mask=(row < batch) & (depth[None, :] < inputs - start), other=0.0)
        right = tl.load(weight_tile, mask=(col < outputs) & (depth[:, None] < inputs - start), other=0.0)
        total = tl.dot(left, right, total, input_precision="ieee")
        x_tile += TILE_K * x_col
        weight_tile += TILE_K * weight_col
    total += tl.load(bias + col * bias_col, mask=col < outputs, other=0.0).to(tl.float32)
    total = 0.5 * total * (1.0 + tl.erf(total * 0.7071067811865476))
    tl.store(y + row * outputs + col, total.to(y.dtype.element_ty), mask=(row < batch) & (col < outputs))


def linear_gelu(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, y: torch.Tensor) -> None:
    (batch, inputs), outputs = x.shape, weight.shape[0]
    tile_m, tile_n, tile_k, warps = (64, 64, 32, 4) if x.dtype == torch.float32 else (128, 128, 32, 8)
    tile_m = min(tile_m, max(16, triton.next_power_of_2(batch)))
    tile_n = min(tile_n, max(16, triton.next_power_of_2(outputs)))
    _linear_gelu[(triton.cdiv(batch, tile_m) * triton.cdiv(outputs, tile_n),)](
        x,
        weight,
        bias,
        y,
        batch,
        outputs,
        inputs,
        *x.stride(),
        *weight.stride(),
        *bias.stride(),
        TILE_M=tile_m,
        TILE_N=tile_n,
        TILE_K=tile_k,
        num_warps=warps,
        num_stages=4,
    )
