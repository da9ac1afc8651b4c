"""Linear layer with four-bit weights in groups of 128 (Lin et al. 2023; Frantar et al. 2024), by output tiles.

Codes become weights in registers, of the dtype of x: tensor cores multiply float16, float32 takes IEEE multiply-adds.
"""

import torch
import triton
import triton.language as tl

GROUP = tl.constexpr(8)


@triton.jit
def _linear(
    x, packed, scale, zero, y, batch, outputs, pairs, x_row, x_col, packed_row, packed_col, scale_row, scale_col,
    zero_row, zero_col, TILE_M: tl.constexpr, TILE_N: tl.constexpr, TILE_K: tl.constexpr,
):  # fmt: skip
    # Programs are numbered in groups of tile rows: those that run together share tiles in the L2 cache.
    tiles_m = tl.cdiv(batch, TILE_M)
    per_group = GROUP * tl.cdiv(outputs, TILE_N)
    first = tl.program_id(0) // per_group * GROUP
    height = tl.minimum(tiles_m - first, GROUP)
    inner = tl.program_id(0) % per_group
    row = (first + inner % height).to(tl.int64) * TILE_M + tl.arange(0, TILE_M)[:, None]
    out = (inner // height).to(tl.int64) * TILE_N + tl.arange(0, TILE_N)[:, None]
    term = tl.arange(0, TILE_K).to(tl.int64)[None, :]
    byte = tl.arange(0, TILE_K // 2).to(tl.int64)[None, :]
    total = tl.zeros([TILE_M, TILE_N], tl.float32)
    for start in range(0, 2 * pairs, TILE_K):
        col = start + term
        factor = tl.load(x + row * x_row + col * x_col, mask=(row < batch) & (col < 2 * pairs), other=0.0)
        place = start // 2 + byte
        there = (out < outputs) & (place < pairs)
        code = tl.load(packed + out * packed_row + place * packed_col, mask=there, other=0).to(tl.int32)
        # TILE_K divides 128: all of a tile's terms are of one group. Past the end they meet zeros of x.
        group = start // 128
        gain = tl.load(scale + out * scale_row + group * scale_col, mask=out < outputs, other=0.0).to(tl.float32)
        offset = tl.load(zero + out * zero_row + group * zero_col, mask=out < outputs, other=0).to(tl.int32)
        low = ((code & 15) - offset).to(tl.float32) * gain
        high = ((code >> 4) - offset).to(tl.float32) * gain
        weight = tl.interleave(low, high).to(factor.dtype)
        total = tl.dot(factor, tl.trans(weight), total, input_precision="ieee")
    col = tl.reshape(out, [1, TILE_N])
    tl.store(y + row * outputs + col, total.to(y.dtype.element_ty), mask=(row < batch) & (col < outputs))


def w4a16_gemm(x: torch.Tensor, packed: torch.Tensor, scale: torch.Tensor, zero: torch.Tensor, y: torch.Tensor) -> None:
    batch, (outputs, pairs) = x.shape[0], packed.shape
    tile_m, tile_n, tile_k, warps = (64, 64, 32, 4) if x.dtype == torch.float32 else (128, 128, 64, 8)
    if batch <= 64:  # bound by reading the weights, for which more programs are better
        tile_n, warps = 32, 4
    tile_m = min(tile_m, max(16, triton.next_power_of_2(batch)))
    tile_n = min(tile_n, max(16, triton.next_power_of_2(outputs)))
    _linear[(triton.cdiv(batch, tile_m) * triton.cdiv(outputs, tile_n),)](
        x,
        packed,
        scale,
        zero,
        y,
        batch,
        outputs,
        pairs,
        *x.stride(),
        *packed.stride(),
        *scale.stride(),
        *zero.stride(),
        TILE_M=tile_m,
        TILE_N=tile_n,
        TILE_K=tile_k,
        num_warps=warps,
        num_stages=3,
    )
