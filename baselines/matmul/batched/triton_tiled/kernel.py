"""Batched matrix product (torch.bmm): tensor cores for float16, IEEE float32 multiply-adds for float32.

A program has a tile of one member's product. Matrices far smaller than a tile share a program, without tensor cores.
"""

import torch
import triton
import triton.language as tl

SMALL = 256
LANES = 2048


@triton.jit
def _tiles(
    a, b, c, m, n, k, a_batch, a_row, a_col, b_batch, b_row, b_col,
    TILE_M: tl.constexpr, TILE_N: tl.constexpr, TILE_K: tl.constexpr,
):  # fmt: skip
    tiles_m = tl.cdiv(m, TILE_M)
    tiles = tiles_m * tl.cdiv(n, TILE_N)
    member = (tl.program_id(0) // tiles).to(tl.int64)
    tile = tl.program_id(0) % tiles
    row = (tile % tiles_m).to(tl.int64) * TILE_M + tl.arange(0, TILE_M)[:, None]
    col = (tile // tiles_m).to(tl.int64) * TILE_N + tl.arange(0, TILE_N)[None, :]
    depth = tl.arange(0, TILE_K).to(tl.int64)
    a_tile = a + member * a_batch + row * a_row + depth[None, :] * a_col
    b_tile = b + member * b_batch + col * b_col + depth[:, None] * b_row
    total = tl.zeros([TILE_M, TILE_N], tl.float32)
    for start in range(0, k, TILE_K):
        left = tl.load(a_tile, mask=(row < m) & (depth[None, :] < k - start), other=0.0)
        right = tl.load(b_tile, mask=(col < n) & (depth[:, None] < k - start), other=0.0)
        total = tl.dot(left, right, total, input_precision="ieee")
        a_tile += TILE_K * a_col
        b_tile += TILE_K * b_row
    tl.store(c + (member * m + row) * n + col, total.to(c.dtype.element_ty), mask=(row < m) & (col < n))


@triton.jit
def _members(
    a, b, c, batch, m, n, k, a_batch, a_row, a_col, b_batch, b_row, b_col,
    MEMBERS: tl.constexpr, TILE_M: tl.constexpr, TILE_N: tl.constexpr,
):  # fmt: skip
    member = tl.program_id(0).to(tl.int64) * MEMBERS + tl.arange(0, MEMBERS)[:, None, None]
    row = tl.arange(0, TILE_M)[None, :, None]
    col = tl.arange(0, TILE_N)[None, None, :]
    a_line = a + member * a_batch + row * a_row
    b_line = b + member * b_batch + col * b_col
    total = tl.zeros([MEMBERS, TILE_M, TILE_N], tl.float32)
    for term in range(0, k):
        left = tl.load(a_line + term * a_col, mask=(member < batch) & (row < m), other=0.0).to(tl.float32)
        right = tl.load(b_line + term * b_row, mask=(member < batch) & (col < n), other=0.0).to(tl.float32)
        total += left * right
    inside = (member < batch) & (row < m) & (col < n)
    tl.store(c + (member * m + row) * n + col, total.to(c.dtype.element_ty), mask=inside)


def batched(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> None:
    (batch, m, k), n = a.shape, b.shape[2]
    tile_m, tile_n = triton.next_power_of_2(m), triton.next_power_of_2(n)
    if tile_m * tile_n <= SMALL and k <= 64:
        members = min(LANES // (tile_m * tile_n), triton.next_power_of_2(batch))
        _members[(triton.cdiv(batch, members),)](
            a, b, c, batch, m, n, k, *a.stride(), *b.stride(), MEMBERS=members, TILE_M=tile_m, TILE_N=tile_n
        )
        return
    widest, warps = (64, 4) if a.dtype == torch.float32 else (128, 8)
    tile_m, tile_n = min(widest, max(16, tile_m)), min(widest, max(16, tile_n))
    _tiles[(batch * triton.cdiv(m, tile_m) * triton.cdiv(n, tile_n),)](
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
        TILE_K=32,
        num_warps=warps if tile_m * tile_n == widest * widest else 4,
        num_stages=4,
    )
