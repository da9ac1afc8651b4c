"""Product of a matrix and a vector, bound by reading the matrix once: each program has a few rows and walks along them.

Every lane keeps a float32 sum of its own; they meet after the last piece. Tiles lie along the matrix as memory has it.
"""

import torch
import triton
import triton.language as tl

TILE = 2048


@triton.jit
def _matrix_vector(a, x, y, m, k, a_row, a_col, x_place, TILE_M: tl.constexpr, TILE_K: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * TILE_M + tl.arange(0, TILE_M)[:, None]
    depth = tl.arange(0, TILE_K).to(tl.int64)[None, :]
    total = tl.zeros([TILE_M, TILE_K], tl.float32)
    for start in range(0, k, TILE_K):
        term = start + depth
        value = tl.load(a + row * a_row + term * a_col, mask=(row < m) & (term < k), other=0.0).to(tl.float32)
        factor = tl.load(x + term * x_place, mask=term < k, other=0.0).to(tl.float32)
        total += value * factor
    tl.store(y + row, tl.sum(total, axis=1, keep_dims=True).to(y.dtype.element_ty), mask=row < m)


def matrix_vector(a: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> None:
    m, k = a.shape
    if a.stride(0) < a.stride(1):  # neighbours in memory are rows
        tile_m = min(128, triton.next_power_of_2(m))
        tile_k = min(TILE // tile_m, triton.next_power_of_2(k))
    else:
        tile_k = min(1024, triton.next_power_of_2(k))
        tile_m = min(TILE // tile_k, triton.next_power_of_2(m))
    _matrix_vector[(triton.cdiv(m, tile_m),)](
        a, x, y, m, k, *a.stride(), *x.stride(), TILE_M=tile_m, TILE_K=tile_k, num_warps=4
    )
