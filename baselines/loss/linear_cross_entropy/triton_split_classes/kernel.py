"""Linear head and cross-entropy without the logits (Wijmans et al. 2024): tiles of them live in registers alone.

A program has a tile of tokens and a share of the classes, and keeps the running maximum and sum of the online softmax
(Milakov and Gimelshein 2018). A second kernel joins the shares of each token, a third averages.
"""

import torch
import triton
import triton.language as tl

TILE_MERGED = 128
PROGRAMS = 512


@triton.jit
def _share_of_classes(
    hidden, weight, target, tops, totals, picks, tokens, width, classes, tiles_per_share,
    hidden_row, hidden_col, weight_row, weight_col, target_row,
    TILE_M: tl.constexpr, TILE_N: tl.constexpr, TILE_K: tl.constexpr,
):  # fmt: skip
    # Programs that run together have all tokens and the same classes: they share the weights in the L2 cache.
    tiles_m = tl.cdiv(tokens, TILE_M)
    share = tl.program_id(0) // tiles_m
    row = (tl.program_id(0) % tiles_m).to(tl.int64) * TILE_M + tl.arange(0, TILE_M)[:, None]
    depth = tl.arange(0, TILE_K).to(tl.int64)
    chosen = tl.load(target + row * target_row, mask=row < tokens, other=0)
    top = tl.full([TILE_M, 1], -float("inf"), tl.float32)
    total = tl.zeros([TILE_M, 1], tl.float32)
    picked = tl.zeros([TILE_M, 1], tl.float32)
    end = tl.minimum((share + 1) * tiles_per_share, tl.cdiv(classes, TILE_N))
    for tile in range(share * tiles_per_share, end):
        col = tile * TILE_N + tl.arange(0, TILE_N).to(tl.int64)[None, :]
        hidden_tile = hidden + row * hidden_row + depth[None, :] * hidden_col
        # Each class has its own row of weight: the tile is read transposed.
        weight_tile = weight + col * weight_row + depth[:, None] * weight_col
        logits = tl.zeros([TILE_M, TILE_N], tl.float32)
        for start in range(0, width, TILE_K):
            left = tl.load(hidden_tile, mask=(row < tokens) & (depth[None, :] < width - start), other=0.0)
            right = tl.load(weight_tile, mask=(col < classes) & (depth[:, None] < width - start), other=0.0)
            logits = tl.dot(left, right, logits, input_precision="ieee")
            hidden_tile += TILE_K * hidden_col
            weight_tile += TILE_K * weight_col
        picked += tl.sum(tl.where(col == chosen, logits, 0.0), axis=1, keep_dims=True)
        logits = tl.where(col < classes, logits, -float("inf"))
        higher = tl.maximum(top, tl.max(logits, axis=1, keep_dims=True))
        total = total * tl.exp(top - higher) + tl.sum(tl.exp(logits - higher), axis=1, keep_dims=True)
        top = higher
    place = share.to(tl.int64) * tokens + row
    tl.store(tops + place, top, mask=row < tokens)
    tl.store(totals + place, total, mask=row < tokens)
    tl.store(picks + place, picked, mask=row < tokens)


@triton.jit
def _join(tops, totals, picks, losses, shares, tokens, TILE: tl.constexpr):
    token = tl.program_id(0).to(tl.int64) * TILE + tl.arange(0, TILE)
    # Tokens past the end repeat the last one; empty sums would compute inf - inf.
    source = tl.minimum(token, tokens - 1)
    top = tl.load(tops + source)
    total = tl.load(totals + source)
    picked = tl.load(picks + source)
    for _ in range(1, shares):
        source += tokens
        other = tl.load(tops + source)
        higher = tl.maximum(top, other)
        total = total * tl.exp(top - higher) + tl.load(totals + source) * tl.exp(other - higher)
        picked += tl.load(picks + source)
        top = higher
    loss = (top - picked) + tl.log(total)
    tl.store(losses + tl.program_id(0), tl.sum(tl.where(token < tokens, loss, 0.0)))


@triton.jit
def _mean(losses, loss, size, tokens, TILE: tl.constexpr):
    index = tl.arange(0, TILE)
    total = tl.sum(tl.load(losses + index, mask=index < size, other=0.0))
    tl.store(loss, (total / tokens).to(loss.dtype.element_ty))


def linear_cross_entropy(hidden: torch.Tensor, weight: torch.Tensor, target: torch.Tensor, loss: torch.Tensor) -> None:
    (tokens, width), classes = hidden.shape, weight.shape[0]
    tile_m, tile_n, tile_k, warps = (64, 64, 32, 4) if hidden.dtype == torch.float32 else (128, 128, 32, 8)
    tile_m = min(tile_m, max(16, triton.next_power_of_2(tokens)))
    tile_n = min(tile_n, max(16, triton.next_power_of_2(classes)))
    # As many shares as fill a GPU, each with as many tiles as any other but the last.
    tiles_m, tiles_n = triton.cdiv(tokens, tile_m), triton.cdiv(classes, tile_n)
    tiles_per_share = triton.cdiv(tiles_n, max(1, PROGRAMS // tiles_m))
    shares = triton.cdiv(tiles_n, tiles_per_share)
    tops, totals, picks = torch.empty((3, shares, tokens), dtype=torch.float32, device=hidden.device)
    _share_of_classes[(tiles_m * shares,)](
        hidden,
        weight,
        target,
        tops,
        totals,
        picks,
        tokens,
        width,
        classes,
        tiles_per_share,
        *hidden.stride(),
        *weight.stride(),
        *target.stride(),
        TILE_M=tile_m,
        TILE_N=tile_n,
        TILE_K=tile_k,
        num_warps=warps,
        num_stages=4,
    )
    merged = triton.cdiv(tokens, TILE_MERGED)
    losses = torch.empty(merged, dtype=torch.float32, device=hidden.device)
    _join[(merged,)](tops, totals, picks, losses, shares, tokens, TILE=TILE_MERGED, num_warps=4)
    _mean[(1,)](losses, loss, merged, tokens, TILE=triton.next_power_of_2(merged))
