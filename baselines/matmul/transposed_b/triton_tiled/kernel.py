"""Product of a matrix and a transposed one by output tiles (GEMM, C <- A B^T; Dongarra et al. 1990).

Tensor cores for float16, IEEE float32 multiply-adds for float32. Programs are numbered in groups of tile rows, so that
those running together share tiles of a and b in the L2 cache.
"""

import torch
import triton
import triton.language as tl

GROUP = tl.constexpr(8)


@triton.jit
def _transposed_b(
    a, b, c, m, n, k, a_row, a_col, b_row, b_col,
    TILE_M: tl.constexpr, TILE_N: tl.constexpr, TILE_K: tl.constexpr,
):  # fmt: skip
    tiles_m = tl.cdiv(m, TILE_M)
    per_group = GROUP * tl.cdiv(n, TILE_N)
    first = tl.program_id(0) // per_group * GROUP
    height = tl.minimum(tiles_m - first, GROUP)
    inner = tl.program_id(0) % per_group
    row = (first + inner % height).to(tl.int64) * TILE_M + tl.arange(0, TILE_M)[:, None]
    col = (inner // height).to(tl.int64) * TILE_N + tl.arange(0, TILE_N)[None, :]
    depth = tl.arange(0, TILE_K).to(tl.int64)
    a_tile = a + row * a_row + depth[None, :] * a_col
    # Each output column has its own row of b: the tile is read transposed.
    b_tile = b + col * b_row + depth[:, None] * b_col
    total = tl.zeros([TILE_M, TILE_N], tl.float32)
    for start in range(0, k, TILE_K):
        left = tl.load(a_tile, mask=(row < m) & (depth[None, :] < k - start), other=0.0)
        right = tl.load(b_tile, mask=(col < n) & (depth[:, None] < k - start), other=0.0)
        total = tl.dot(left, right, total, input_precision="ieee")
        a_tile += TILE_K * a_col
        b_tile += TILE_K * b_col
    tl.store(c + row * n + col, total.to(c.dtype.element_ty), mask=(row < m) & (col < n))


def transposed_b(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> None:
    (m, k), n = a.shape, b.shape[0]
    tile_m, tile_n, tile_k, warps = (64, 64, 32, 4) if a.dtype == torch.float32 else (128, 128, 32, 8)
    tile_m = min(tile_m, max(16, triton.next_power_of_2(m)))
    tile_n = min(tile_n, max(16, triton.next_power_of_2(n)))
    _transposed_b[(triton.cdiv(m, tile_m) * triton.cdiv(n, tile_n),)](
        a,
        b,
        c,
        m,
        n,
        k,
        *a.stride(),
        *b.stride(),
        TILE_M=tile_m,
        TILE_N=tile_n,
        TILE_K=tile_k,
        num_warps=warps,
        num_stages=4,
    )
