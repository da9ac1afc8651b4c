"""Gradient of the mean cross entropy, (softmax(logits) - onehot(target)) * grad_loss / rows: two passes over a row.

The first pass is the online softmax of Milakov and Gimelshein (2018), the second one finds the row in the cache. The
target is left out of the sum: p_t - 1 = -(sum of the others) / (sum of all) keeps its digits where p_t is almost one.
"""

import torch
import triton
import triton.language as tl

TILE = 4096


@triton.jit
def _grad_logits(
    grad_loss, logits, target, grad_logits, rows, classes, logits_row, logits_col, target_row,
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
    upstream = tl.load(grad_loss).to(tl.float32) / rows
    scale = tl.div_rn(upstream, others + tl.exp(picked - top))
    for start in range(0, classes, TILE_COLS):
        col = start + tl.arange(0, TILE_COLS).to(tl.int64)[None, :]
        value = tl.load(logits + source * logits_row + col * logits_col, mask=col < classes, other=-float("inf"))
        weight = tl.where(col == chosen, -others, tl.exp(value.to(tl.float32) - top))
        result = (weight * scale).to(grad_logits.dtype.element_ty)
        tl.store(grad_logits + row * classes + col, result, mask=(row < rows) & (col < classes))


def cross_entropy_backward(
    grad_loss: torch.Tensor, logits: torch.Tensor, target: torch.Tensor, grad_logits: torch.Tensor
) -> None:
    rows, classes = logits.shape
    tile_cols = min(triton.next_power_of_2(classes), TILE)
    tile_rows = min(TILE // tile_cols, triton.next_power_of_2(rows))
    _grad_logits[(triton.cdiv(rows, tile_rows),)](
        grad_loss,
        logits,
        target,
        grad_logits,
        rows,
        classes,
        *logits.stride(),
        *target.stride(),
        TILE_ROWS=tile_rows,
        TILE_COLS=tile_cols,
        num_warps=min(max(1, tile_rows * tile_cols // 512), 8),
    )
