"""Attention of one query to a cache of eight-bit keys and values (Hooper et al. 2024), bound by reading the cache once.

As in Flash-Decoding (Dao et al. 2023), programs share the keys of a head, with an online softmax over tiles of them,
and a second kernel joins what they found. Heads with few keys share a program.
"""

import torch
import triton
import triton.language as tl

PROGRAMS = 1056
MAX_SPLITS = 128
TILE = 4096


@triton.jit
def _stretch(
    q, k, v, k_scale, v_scale, values, totals, tops, pairs, heads, length, head_dim, splits, scale,
    q_batch, q_head, q_dim, k_batch, k_head, k_row, k_dim, v_batch, v_head, v_row, v_dim,
    k_scale_batch, k_scale_head, k_scale_row, v_scale_batch, v_scale_head, v_scale_row,
    TILE_H: tl.constexpr, TILE_K: tl.constexpr, TILE_D: tl.constexpr,
):  # fmt: skip
    split = tl.program_id(0) % splits
    pair = (tl.program_id(0) // splits).to(tl.int64) * TILE_H + tl.arange(0, TILE_H)[:, None]
    there = pair < pairs
    batch = pair // heads
    head = pair % heads
    dim = tl.arange(0, TILE_D)[None, :]
    in_head = there & (dim < head_dim)
    query = tl.load(q + batch * q_batch + head * q_head + dim * q_dim, mask=in_head, other=0.0).to(tl.float32) * scale
    key_tile = (k + batch * k_batch + head * k_head + dim * k_dim)[:, None, :]
    value_tile = (v + batch * v_batch + head * v_head + dim * v_dim)[:, None, :]
    key_scales = k_scale + batch * k_scale_batch + head * k_scale_head
    value_scales = v_scale + batch * v_scale_batch + head * v_scale_head
    top = tl.full([TILE_H, 1], -float("inf"), tl.float32)
    total = tl.zeros([TILE_H, 1], tl.float32)
    result = tl.zeros([TILE_H, TILE_D], tl.float32)
    share = tl.cdiv(tl.cdiv(length, splits), TILE_K) * TILE_K
    for start in range(split * share, tl.minimum((split + 1) * share, length), TILE_K):
        col = start + tl.arange(0, TILE_K).to(tl.int64)[None, :]
        inside = there & (col < length)
        code = tl.load(key_tile + col[:, :, None] * k_row, mask=inside[:, :, None] & in_head[:, None, :], other=128)
        # Products with the query in float32; the scale of a key comes after their sum.
        score = tl.sum((code.to(tl.float32) - 128.0) * query[:, None, :], axis=2)
        score *= tl.load(key_scales + col * k_scale_row, mask=inside, other=0.0)
        score = tl.where(col < length, score, -float("inf"))
        higher = tl.maximum(top, tl.max(score, axis=1, keep_dims=True))
        weight = tl.exp2(score - higher)
        shrink = tl.exp2(top - higher)
        total = total * shrink + tl.sum(weight, axis=1, keep_dims=True)
        weight *= tl.load(value_scales + col * v_scale_row, mask=inside, other=0.0)
        code = tl.load(value_tile + col[:, :, None] * v_row, mask=inside[:, :, None] & in_head[:, None, :], other=128)
        result = result * shrink + tl.sum((code.to(tl.float32) - 128.0) * weight[:, :, None], axis=1)
        top = higher
    place = pair * splits + split
    tl.store(values + place * head_dim + dim, result, mask=in_head)
    tl.store(totals + place, total, mask=there)
    tl.store(tops + place, top, mask=there)


@triton.jit
def _join(values, totals, tops, y, pairs, splits, head_dim, TILE_H: tl.constexpr, TILE_D: tl.constexpr):
    pair = tl.program_id(0).to(tl.int64) * TILE_H + tl.arange(0, TILE_H)[:, None]
    dim = tl.arange(0, TILE_D)[None, :]
    there = pair < pairs
    # The first split always has keys, so that the maximum is finite; one without any counts for nothing.
    top = tl.full([TILE_H, 1], -3.0e38, tl.float32)
    for split in range(splits):
        top = tl.maximum(top, tl.load(tops + pair * splits + split, mask=there, other=0.0))
    total = tl.zeros([TILE_H, 1], tl.float32)
    result = tl.zeros([TILE_H, TILE_D], tl.float32)
    for split in range(splits):
        place = pair * splits + split
        factor = tl.exp2(tl.load(tops + place, mask=there, other=0.0) - top)
        total += factor * tl.load(totals + place, mask=there, other=1.0)
        result += factor * tl.load(values + place * head_dim + dim, mask=there & (dim < head_dim), other=0.0)
    tl.store(y + pair * head_dim + dim, (result / total).to(y.dtype.element_ty), mask=there & (dim < head_dim))


def kv_cache_int8(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, k_scale: torch.Tensor, v_scale: torch.Tensor, y: torch.Tensor
) -> None:
    batch, heads, length, head_dim = k.shape
    pairs = batch * heads
    tile_d = triton.next_power_of_2(head_dim)
    tile_k = min(triton.next_power_of_2(length), TILE // tile_d)
    tile_h = min(triton.next_power_of_2(pairs), TILE // (tile_k * tile_d))
    # As many splits as fill a GPU, but none with a few keys only.
    splits = min(triton.cdiv(PROGRAMS, pairs), triton.cdiv(length, 128), MAX_SPLITS)
    values = torch.empty((pairs, splits, head_dim), dtype=torch.float32, device=q.device)
    totals, tops = torch.empty((2, pairs, splits), dtype=torch.float32, device=q.device)
    _stretch[(triton.cdiv(pairs, tile_h) * splits,)](
        q,
        k,
        v,
        k_scale,
        v_scale,
        values,
        totals,
        tops,
        pairs,
        heads,
        length,
        head_dim,
        splits,
        1.4426950408889634 * head_dim**-0.5,  # weights are powers of two
        *q.stride(),
        *k.stride(),
        *v.stride(),
        *k_scale.stride(),
        *v_scale.stride(),
        TILE_H=tile_h,
        TILE_K=tile_k,
        TILE_D=tile_d,
        num_warps=4,
    )
    tile_h = min(triton.next_power_of_2(pairs), max(1, 1024 // tile_d))
    _join[(triton.cdiv(pairs, tile_h),)](
        values, totals, tops, y, pairs, splits, head_dim, TILE_H=tile_h, TILE_D=tile_d, num_warps=2
    )
