"""Sliding window attention (Beltagy et al. 2020, section 3.1): FlashAttention-2 (Dao 2023) along the diagonal.

A program keeps a tile of queries and walks over the keys that any of them sees, rescaling its sums when the maximum
grows.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def _sliding_window(
    q, k, v, y, heads, length, size, head_dim, scale,
    q_batch, q_head, q_row, k_batch, k_head, k_row, v_batch, v_head, v_row,
    TILE_Q: tl.constexpr, TILE_K: tl.constexpr, TILE_D: tl.constexpr,
):  # fmt: skip
    tiles = tl.cdiv(length, TILE_Q)
    # Programs of one head follow each other: its keys and values are shared through the L2 cache.
    tile = tl.program_id(0) % tiles
    batch = (tl.program_id(0) // tiles // heads).to(tl.int64)
    head = (tl.program_id(0) // tiles % heads).to(tl.int64)
    row = tile.to(tl.int64) * TILE_Q + tl.arange(0, TILE_Q)[:, None]
    dim = tl.arange(0, TILE_D)
    # Queries past the end repeat the last one and are not stored.
    source = tl.minimum(row, length - 1)
    query_tile = q + batch * q_batch + head * q_head + source * q_row + dim[None, :]
    query = tl.load(query_tile, mask=dim[None, :] < head_dim, other=0.0)
    key_tile = k + batch * k_batch + head * k_head + dim[:, None]
    value_tile = v + batch * v_batch + head * v_head + dim[None, :]
    top = tl.full([TILE_Q, 1], -float("inf"), tl.float32)
    total = tl.zeros([TILE_Q, 1], tl.float32)
    result = tl.zeros([TILE_Q, TILE_D], tl.float32)
    # From the first key that the first query sees to the last query itself.
    first = tl.maximum(tile * TILE_Q - size + 1, 0) // TILE_K * TILE_K
    for start in range(first, tl.minimum((tile + 1) * TILE_Q, length), TILE_K):
        col = start + tl.arange(0, TILE_K).to(tl.int64)
        there = col < length
        key = tl.load(key_tile + col[None, :] * k_row, mask=there[None, :] & (dim[:, None] < head_dim), other=0.0)
        score = tl.dot(query, key, input_precision="ieee") * scale
        back = source - col[None, :]
        score = tl.where((back >= 0) & (back < size), score, -float("inf"))
        higher = tl.maximum(top, tl.max(score, axis=1, keep_dims=True))
        # Until a query sees its first key, it has no maximum to compare with.
        base = tl.where(higher == -float("inf"), 0.0, higher)
        weight = tl.exp(score - base)
        shrink = tl.exp(top - base)
        total = total * shrink + tl.sum(weight, axis=1, keep_dims=True)
        value = tl.load(value_tile + col[:, None] * v_row, mask=there[:, None] & (dim[None, :] < head_dim), other=0.0)
        result = tl.dot(weight.to(v.dtype.element_ty), value, result * shrink, input_precision="ieee")
        top = higher
    result *= tl.div_rn(1.0, total)
    out = y + ((batch * heads + head) * length + row) * head_dim + dim[None, :]
    tl.store(out, result.to(y.dtype.element_ty), mask=(row < length) & (dim[None, :] < head_dim))


def sliding_window(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, size: int, y: torch.Tensor) -> None:
    batch, heads, length, head_dim = q.shape
    # A head is loaded as whole vectors; only an unusual layout, with gaps inside a head, is copied first.
    q, k, v = (tensor if tensor.stride(-1) == 1 else tensor.contiguous() for tensor in (q, k, v))
    tile_d = max(16, triton.next_power_of_2(head_dim))
    # float32 products run on registers alone, without tensor cores: a tile must be smaller there to fit.
    tile_q, tile_k = (64, 64 if tile_d <= 64 else 32) if q.dtype != torch.float32 else (32, 32)
    tile_q = min(tile_q, max(16, triton.next_power_of_2(length)))
    _sliding_window[(batch * heads * triton.cdiv(length, tile_q),)](
        q,
        k,
        v,
        y,
        heads,
        length,
        size,
        head_dim,
        head_dim**-0.5,
        *q.stride()[:3],
        *k.stride()[:3],
        *v.stride()[:3],
        TILE_Q=tile_q,
        TILE_K=min(tile_k, tile_q),
        TILE_D=tile_d,
        num_warps=4 if tile_d <= 64 else 8,
        num_stages=2,
    )
