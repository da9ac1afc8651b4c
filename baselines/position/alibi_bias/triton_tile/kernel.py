"""Attention with linear biases (Press et al. 2021), bound by memory: each program has a tile of one head's scores."""

import torch
import triton
import triton.language as tl

TILE = 4096


@triton.jit
def _alibi_bias(
    scores, slope, y, queries, keys, scores_head, scores_row, scores_col, slope_place,
    TILE_Q: tl.constexpr, TILE_K: tl.constexpr,
):  # fmt: skip
    tiles_k = tl.cdiv(keys, TILE_K)
    tiles_q = tl.cdiv(queries, TILE_Q)
    tile = tl.program_id(0)
    head = (tile // tiles_k // tiles_q).to(tl.int64)
    row = (tile // tiles_k % tiles_q).to(tl.int64) * TILE_Q + tl.arange(0, TILE_Q)[:, None]
    col = (tile % tiles_k).to(tl.int64) * TILE_K + tl.arange(0, TILE_K)[None, :]
    inside = (row < queries) & (col < keys)
    score = tl.load(scores + head * scores_head + row * scores_row + col * scores_col, mask=inside, other=0.0)
    steep = tl.load(slope + head * slope_place).to(tl.float32)
    distance = (col - (keys - queries + row)).to(tl.float32)  # queries stand at the last positions
    result = score.to(tl.float32) + steep * distance
    tl.store(y + (head * queries + row) * keys + col, result.to(y.dtype.element_ty), mask=inside)


def alibi_bias(scores: torch.Tensor, slope: torch.Tensor, y: torch.Tensor) -> None:
    heads, queries, keys = scores.shape
    tile_k = min(triton.next_power_of_2(keys), 1024)
    tile_q = min(TILE // tile_k, triton.next_power_of_2(queries))
    _alibi_bias[(heads * triton.cdiv(queries, tile_q) * triton.cdiv(keys, tile_k),)](
        scores,
        slope,
        y,
        queries,
        keys,
        *scores.stride(),
        *slope.stride(),
        TILE_Q=tile_q,
        TILE_K=tile_k,
        num_warps=min(max(1, tile_q * tile_k // 512), 8),
    )
