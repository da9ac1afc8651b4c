"""Top-k gate of a mixture of experts (Jiang et al. 2024): each program keeps whole tokens in registers.

A logit and its expert are packed into one integer: the upper half holds the bits of the float32, with the lower 31 of a
negative one turned, which are in its order; the lower half tells equal logits apart. So one maximum finds both, and
what is below the last one is still to be chosen.
"""

import torch
import triton
import triton.language as tl

TILE = 2048
LOWEST = tl.constexpr(-(2**63))


@triton.jit
def _topk_gating(
    logits, weights, indices, tokens, experts, count, logits_row, logits_col,
    TILE_ROWS: tl.constexpr, TILE_COLS: tl.constexpr, TILE_RANKS: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64) * TILE_ROWS + tl.arange(0, TILE_ROWS)[:, None]
    col = tl.arange(0, TILE_COLS)[None, :]
    inside = (row < tokens) & (col < experts)
    value = tl.load(logits + row * logits_row + col.to(tl.int64) * logits_col, mask=inside, other=0.0).to(tl.float32)
    bits = value.to(tl.int32, bitcast=True)
    order = tl.where(bits < 0, bits ^ 0x7FFFFFFF, bits).to(tl.int64)
    keys = tl.where(inside, order * 4294967296 + (TILE_COLS - 1 - col), LOWEST)

    rank = tl.arange(0, TILE_RANKS)[None, :]
    chosen = tl.full([TILE_ROWS, TILE_RANKS], LOWEST, tl.int64)
    for step in range(count):
        top = tl.max(keys, axis=1, keep_dims=True)
        chosen = tl.where(rank == step, top, chosen)
        keys = tl.where(keys < top, keys, LOWEST)

    upper = (chosen >> 32).to(tl.int32)
    logit = tl.where(upper < 0, upper ^ 0x7FFFFFFF, upper).to(tl.float32, bitcast=True)
    logit = tl.where((rank < count) & (row < tokens), logit, -float("inf"))
    # Rows past the end are given a maximum, for inf - inf is NaN.
    highest = tl.where(row < tokens, tl.max(logit, axis=1, keep_dims=True), 0.0)
    power = tl.exp(logit - highest)
    total = tl.where(row < tokens, tl.sum(power, axis=1, keep_dims=True), 1.0)
    place = row * count + rank
    there = (row < tokens) & (rank < count)
    tl.store(weights + place, (power / total).to(weights.dtype.element_ty), mask=there)
    tl.store(indices + place, TILE_COLS - 1 - (chosen & 0xFFFFFFFF), mask=there)


def topk_gating(logits: torch.Tensor, k: int, weights: torch.Tensor, indices: torch.Tensor) -> None:
    tokens, experts = logits.shape
    tile_cols = triton.next_power_of_2(experts)
    tile_rows = min(TILE // tile_cols, triton.next_power_of_2(tokens))
    _topk_gating[(triton.cdiv(tokens, tile_rows),)](
        logits,
        weights,
        indices,
        tokens,
        experts,
        k,
        *logits.stride(),
        TILE_ROWS=tile_rows,
        TILE_COLS=tile_cols,
        TILE_RANKS=triton.next_power_of_2(k),
        num_warps=min(max(1, tile_rows * tile_cols // 256), 8),
    )
