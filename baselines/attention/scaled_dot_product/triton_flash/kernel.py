"""Attention without the score matrix: FlashAttention-2 (Dao 2023), forward, float32 accumulation.

A program keeps a tile of queries and walks over all keys, rescaling its sums when the maximum grows.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def _scaled_dot_product(
    q, k, v, y, heads, queries, keys, head_dim, scale,
    q_batch, q_head, q_row, k_batch, k_head, k_row, v_batch, v_head, v_row,
    TILE_Q: tl.constexpr, TILE_K: tl.constexpr, TILE_D: tl.constexpr,
):  # fmt: skip
    tiles = tl.cdiv(queries, TILE_Q)
    # Programs of one head follow each other: its keys and values are shared through the L2 cache.
    tile = tl.program_id(0) % tiles
    batch = (tl.program_id(0) // tiles // heads).to(tl.int64)
    head = (tl.program_id(0) // tiles % heads).to(tl.int64)
    row = tile.to(tl.int64) * TILE_Q + tl.arange(0, TILE_Q)[:, None]
    dim = tl.arange(0, TILE_D)
    # Queries past the end repeat the last one and are not stored.
    source = tl.minimum(row, queries - 1)
    query_tile = q + batch * q_batch + head * q_head + source * q_row + dim[None, :]
    query = tl.load(query_tile, mask=dim[None, :] < head_dim, other=0.0)
    key_tile = k + batch * k_batch + head * k_head + dim[:, None]
    value_tile = v + batch * v_batch + head * v_head + dim[None, :]
    top = tl.full([TILE_Q, 1], -float("inf"), tl.float32)
    total = tl.zeros([TILE_Q, 1], tl.float32)
    result = tl.zeros([TILE_Q, TILE_D], tl.float32)
    for start in range(0, keys, TILE_K):
        col = start + tl.arange(0, TILE_K).to(tl.int64)
        there = col < keys
        key = tl.load(key_tile + col[None, :] * k_row, mask=there[None, :] & (dim[:, None] < head_dim), other=0.0)
        score = tl.dot(query, key, input_precision="ieee") * scale
        score = tl.where(there[None, :], score, -float("inf"))
        higher = tl.maximum(top, tl.max(score, axis=1, keep_dims=True))
        weight = tl.exp(score - higher)
        shrink = tl.exp(top - higher)
        total = total * shrink + tl.sum(weight, axis=1, keep_dims=True)
        value = tl.load(value_tile + col[:, None] * v_row, mask=there[:, None] & (dim[None, :] < head_dim), other=0.0)
        result = tl.dot(weight.to(v.dtype.element_ty), value, result * shrink, input_precision="ieee")
        top = higher
    result *= tl.div_rn(1.0, total)
    out = y + ((batch * heads + head) * queries + row) * head_dim + dim[None, :]
    tl.store(out, result.to(y.dtype.element_ty), mask=(row < queries) & (dim[None, :] < head_dim))


def scaled_dot_product(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, y: torch.Tensor) -> None:
    batch, heads, queries, head_dim = q.shape
    # A head is loaded as whole vectors; only an unusual layout, with gaps inside a head, is copied first.
    q, k, v = (tensor if tensor.stride(-1) == 1 else tensor.contiguous() for tensor in (q, k, v))
    tile_d = max(16, triton.next_power_of_2(head_dim))
    # float32 products run on registers alone, without tensor cores: a tile must be smaller there to fit.
    tile_q, tile_k = (128, 64 if tile_d <= 64 else 32) if q.dtype != torch.float32 else (32, 32)
    tile_q = min(tile_q, max(16, triton.next_power_of_2(queries)))
    _scaled_dot_product[(batch * heads * triton.cdiv(queries, tile_q),)](
        q,
        k,
        v,
        y,
        heads,
        queries,
        k.shape[2],
        head_dim,
        head_dim**-0.5,
        *q.stride()[:3],
        *k.stride()[:3],
        *v.stride()[:3],
        TILE_Q=tile_q,
        TILE_K=min(tile_k, max(16, triton.next_power_of_2(k.shape[2]))),
        TILE_D=tile_d,
        num_warps=4 if tile_d <= 64 else 8,
        num_stages=2,
    )
