"""Attention of one query each to a cache, with grouped queries (Ainslie et al. 2023), bound by reading the cache once.

As in Flash-Decoding (Dao et al. 2023), programs share the keys of a sequence: each meets all queries of a group with
its own stretch of keys, and a second kernel joins what they found.
"""

import torch
import triton
import triton.language as tl

PROGRAMS = 528
MAX_SPLITS = 64


@triton.jit
def _stretch(
    q, k, v, lengths, values, totals, tops, kv_heads, groups, splits, head_dim, scale,
    q_batch, q_head, k_batch, k_head, k_row, v_batch, v_head, v_row, lengths_place,
    TILE_G: tl.constexpr, TILE_K: tl.constexpr, TILE_D: tl.constexpr,
):  # fmt: skip
    split = tl.program_id(0) % splits
    pair = tl.program_id(0) // splits
    batch = (pair // kv_heads).to(tl.int64)
    kv_head = (pair % kv_heads).to(tl.int64)
    length = tl.load(lengths + batch * lengths_place).to(tl.int32)
    share = tl.cdiv(tl.cdiv(length, splits), TILE_K) * TILE_K
    group = tl.arange(0, TILE_G)[:, None]
    dim = tl.arange(0, TILE_D)
    inside = (group < groups) & (dim[None, :] < head_dim)
    head = kv_head * groups + group
    query = tl.load(q + batch * q_batch + head * q_head + dim[None, :], mask=inside, other=0.0)
    key_tile = k + batch * k_batch + kv_head * k_head + dim[:, None]
    value_tile = v + batch * v_batch + kv_head * v_head + dim[None, :]
    top = tl.full([TILE_G, 1], -float("inf"), tl.float32)
    total = tl.zeros([TILE_G, 1], tl.float32)
    result = tl.zeros([TILE_G, TILE_D], tl.float32)
    for start in range(split * share, tl.minimum((split + 1) * share, length), TILE_K):
        col = start + tl.arange(0, TILE_K).to(tl.int64)
        there = col < length
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
    place = (pair.to(tl.int64) * groups + group) * splits + split
    tl.store(values + place * head_dim + dim[None, :], result, mask=inside)
    tl.store(totals + place, total, mask=group < groups)
    tl.store(tops + place, top, mask=group < groups)


@triton.jit
def _join(values, totals, tops, y, heads, splits, head_dim, TILE_H: tl.constexpr, TILE_D: tl.constexpr):
    head = tl.program_id(0).to(tl.int64) * TILE_H + tl.arange(0, TILE_H)[:, None]
    dim = tl.arange(0, TILE_D)[None, :]
    there = head < heads
    top = tl.full([TILE_H, 1], -float("inf"), tl.float32)
    for split in range(splits):
        top = tl.maximum(top, tl.load(tops + head * splits + split, mask=there, other=-float("inf")))
    # A sequence without keys has no maximum.
    base = tl.where(top == -float("inf"), 0.0, top)
    total = tl.zeros([TILE_H, 1], tl.float32)
    result = tl.zeros([TILE_H, TILE_D], tl.float32)
    for split in range(splits):
        place = head * splits + split
        factor = tl.exp(tl.load(tops + place, mask=there, other=-float("inf")) - base)
        total += factor * tl.load(totals + place, mask=there, other=0.0)
        result += factor * tl.load(values + place * head_dim + dim, mask=there & (dim < head_dim), other=0.0)
    result /= tl.where(total == 0.0, 1.0, total)
    tl.store(y + head * head_dim + dim, result.to(y.dtype.element_ty), mask=there & (dim < head_dim))


def gqa_decode(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, lengths: torch.Tensor, y: torch.Tensor) -> None:
    batch, kv_heads, capacity, head_dim = k.shape
    heads = q.shape[1]
    # A head is loaded as whole vectors; only an unusual layout, with gaps inside a head, is copied first.
    q, k, v = (tensor if tensor.stride(-1) == 1 else tensor.contiguous() for tensor in (q, k, v))
    tile_d = max(16, triton.next_power_of_2(head_dim))
    tile_k = min(64 if tile_d <= 64 else 32, max(16, triton.next_power_of_2(capacity)))
    # As many splits as fill a GPU, but none with a few keys only.
    pairs = batch * kv_heads
    splits = min(triton.cdiv(PROGRAMS, pairs), triton.cdiv(capacity, 128), MAX_SPLITS)
    values = torch.empty((batch * heads, splits, head_dim), dtype=torch.float32, device=q.device)
    totals, tops = torch.empty((2, batch * heads, splits), dtype=torch.float32, device=q.device)
    _stretch[(pairs * splits,)](
        q,
        k,
        v,
        lengths,
        values,
        totals,
        tops,
        kv_heads,
        heads // kv_heads,
        splits,
        head_dim,
        head_dim**-0.5,
        *q.stride()[:2],
        *k.stride()[:3],
        *v.stride()[:3],
        *lengths.stride(),
        TILE_G=16,  # the fewest rows of a product; no group is larger
        TILE_K=tile_k,
        TILE_D=tile_d,
        num_warps=4,
        num_stages=3,
    )
    tile_h = min(triton.next_power_of_2(batch * heads), max(1, 1024 // tile_d))
    _join[(triton.cdiv(batch * heads, tile_h),)](
        values, totals, tops, y, batch * heads, splits, head_dim, TILE_H=tile_h, TILE_D=tile_d, num_warps=2
    )
