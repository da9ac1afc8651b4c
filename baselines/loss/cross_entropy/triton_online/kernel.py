"""Mean cross entropy of logits and class indices: online softmax (Milakov and Gimelshein 2018), then one mean.

A row's loss is (m - x_t) + log(sum of exp(x - m)). The target is left out of the running sum and enters at the end,
so that a confident row (a sum of 1 plus almost nothing) goes through log1p and keeps its digits.
"""

import torch
import triton
import triton.language as tl

TILE = 4096


@triton.jit
def _log1p(value):
    # Kahan's form: the rounding of 1 + value is undone by the quotient.
    shifted = 1.0 + value
    unit = tl.where(shifted == 1.0, 1.0, shifted - 1.0)
    return tl.where(shifted == 1.0, value, tl.log(shifted) * (value / unit))


@triton.jit
def _row_losses(
    logits, target, share, rows, classes, logits_row, logits_col, target_row,
    TILE_ROWS: tl.constexpr, TILE_COLS: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64) * TILE_ROWS + tl.arange(0, TILE_ROWS)[:, None]
    # Rows past the end repeat the last one; a row of padding only would compute inf - inf.
    source = tl.minimum(row, rows - 1)
    chosen = tl.load(target + source * target_row)
    picked = tl.load(logits + source * logits_row + chosen * logits_col).to(tl.float32)
    top = picked
    others = tl.zeros([TILE_ROWS, 1], tl.float32)
    for start in range(0, classes, TILE_COLS):
        col = start + tl.arange(0, TILE_COLS).to(tl.int64)[None, :]
        value = tl.load(logits + source * logits_row + col * logits_col, mask=col < classes, other=-float("inf"))
        value = value.to(tl.float32)
        higher = tl.maximum(top, tl.max(value, axis=1, keep_dims=True))
        weight = tl.where(col == chosen, 0.0, tl.exp(value - higher))
        others = others * tl.exp(top - higher) + tl.sum(weight, axis=1, keep_dims=True)
        top = higher
    loss = (top - picked) + _log1p(others + (tl.exp(picked - top) - 1.0))
    tl.store(share + tl.program_id(0), tl.sum(tl.where(row < rows, loss, 0.0)))


@triton.jit
def _mean(share, loss, shares, rows, TILE_SHARES: tl.constexpr):
    index = tl.arange(0, TILE_SHARES)
    total = tl.zeros([TILE_SHARES], tl.float32)
    for start in range(0, shares, TILE_SHARES):
        total += tl.load(share + start + index, mask=start + index < shares, other=0.0)
    tl.store(loss, (tl.sum(total) / rows).to(loss.dtype.element_ty))


def cross_entropy(logits: torch.Tensor, target: torch.Tensor, loss: torch.Tensor) -> None:
    rows, classes = logits.shape
    tile_cols = min(triton.next_power_of_2(classes), TILE)
    tile_rows = min(TILE // tile_cols, triton.next_power_of_2(rows))
    programs = triton.cdiv(rows, tile_rows)
    share = torch.empty(programs, dtype=torch.float32, device=logits.device)
    _row_losses[(programs,)](
        logits,
        target,
        share,
        rows,
        classes,
        *logits.stride(),
        *target.stride(),
        TILE_ROWS=tile_rows,
        TILE_COLS=tile_cols,
        num_warps=min(max(1, tile_rows * tile_cols // 512), 8),
    )
    _mean[(1,)](share, loss, programs, rows, TILE_SHARES=min(triton.next_power_of_2(programs), 1024))
