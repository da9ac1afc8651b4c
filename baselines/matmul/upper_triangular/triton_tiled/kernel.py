"""Product of two upper triangular matrices by output tiles (Golub and Van Loan 2013, section 1.2.8).

A tile's sums run from its first row to its last column; what stands below the diagonals is masked. Tensor cores for
float16, IEEE float32 multiply-adds for float32.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def _upper_triangular(a, b, c, n, a_row, a_col, b_row, b_col, TILE: tl.constexpr, TILE_K: tl.constexpr):
    tiles = tl.cdiv(n, TILE)
    # The last columns have the longest sums; their programs start first, so that none of them is left over at the end.
    top = tl.program_id(0) % tiles * TILE
    side = (tiles - 1 - tl.program_id(0) // tiles) * TILE
    row = top.to(tl.int64) + tl.arange(0, TILE)[:, None]
    col = side.to(tl.int64) + tl.arange(0, TILE)[None, :]
    depth = tl.arange(0, TILE_K).to(tl.int64)
    total = tl.zeros([TILE, TILE], tl.float32)
    for start in range(top, tl.minimum(side + TILE, n), TILE_K):
        across, down = start + depth[None, :], start + depth[:, None]
        left = tl.load(a + row * a_row + across * a_col, mask=(row <= across) & (across < n), other=0.0)
        right = tl.load(b + down * b_row + col * b_col, mask=(down <= col) & (col < n), other=0.0)
        total = tl.dot(left, right, total, input_precision="ieee")
    tl.store(c + row * n + col, total.to(c.dtype.element_ty), mask=(row < n) & (col < n))


def upper_triangular(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> None:
    n = len(a)
    widest, warps = (64, 4) if a.dtype == torch.float32 else (128, 8)
    tile = min(widest, max(16, triton.next_power_of_2(n)))
    _upper_triangular[(triton.cdiv(n, tile) ** 2,)](
        a, b, c, n, *a.stride(), *b.stride(), TILE=tile, TILE_K=32, num_warps=warps, num_stages=4
    )
