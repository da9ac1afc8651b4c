"""One step of AdamW (Loshchilov and Hutter 2019, algorithm 2) in one pass over tiles of 4096 elements.

Without gaps the tensors are one long row; other layouts go in square tiles, coalesced along rows and columns alike.
"""

import math

import torch
import triton
import triton.language as tl

TILE = 4096


@triton.jit
def _adamw(
    param, grad, avg, sq, new_param, new_avg, new_sq, rows, cols, param_row, param_col, grad_row, grad_col,
    avg_row, avg_col, sq_row, sq_col, beta1, rest1, beta2, rest2, decay, rate, unbias, eps,
    TILE_ROWS: tl.constexpr, TILE_COLS: tl.constexpr,
):  # fmt: skip
    across = tl.cdiv(cols, TILE_COLS)
    row = (tl.program_id(0) // across).to(tl.int64) * TILE_ROWS + tl.arange(0, TILE_ROWS)[:, None]
    col = (tl.program_id(0) % across).to(tl.int64) * TILE_COLS + tl.arange(0, TILE_COLS)[None, :]
    inside = (row < rows) & (col < cols)
    p = tl.load(param + row * param_row + col * param_col, mask=inside, other=0.0).to(tl.float32)
    g = tl.load(grad + row * grad_row + col * grad_col, mask=inside, other=0.0).to(tl.float32)
    m = tl.load(avg + row * avg_row + col * avg_col, mask=inside, other=0.0).to(tl.float32)
    # One is as good as any other number past the end, and 0 / 0 is not.
    v = tl.load(sq + row * sq_row + col * sq_col, mask=inside, other=1.0).to(tl.float32)
    m = beta1 * m + rest1 * g
    v = beta2 * v + rest2 * g * g
    p = decay * p - rate * tl.div_rn(m, tl.sqrt_rn(v) * unbias + eps)
    place = row * cols + col
    tl.store(new_param + place, p.to(new_param.dtype.element_ty), mask=inside)
    tl.store(new_avg + place, m.to(new_avg.dtype.element_ty), mask=inside)
    tl.store(new_sq + place, v.to(new_sq.dtype.element_ty), mask=inside)


def adamw_step(
    param: torch.Tensor,
    grad: torch.Tensor,
    exp_avg: torch.Tensor,
    exp_avg_sq: torch.Tensor,
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    weight_decay: float,
    step: int,
    new_param: torch.Tensor,
    new_exp_avg: torch.Tensor,
    new_exp_avg_sq: torch.Tensor,
) -> None:
    if param.numel() == 0:
        return
    read = [param, grad, exp_avg, exp_avg_sq]
    if all(tensor.is_contiguous() for tensor in read):
        read = [tensor.view(1, -1) for tensor in read]
    rows, cols = read[0].shape
    tile_cols = min(triton.next_power_of_2(cols), TILE if rows == 1 else 64)
    tile_rows = min(TILE // tile_cols, triton.next_power_of_2(rows))
    # Whatever has no element in it is computed here, in float64: of a beta that was rounded to float32, few digits of
    # 1 - beta are left.
    _adamw[(triton.cdiv(rows, tile_rows) * triton.cdiv(cols, tile_cols),)](
        *read,
        new_param,
        new_exp_avg,
        new_exp_avg_sq,
        rows,
        cols,
        *(stride for tensor in read for stride in tensor.stride()),
        beta1,
        1.0 - beta1,
        beta2,
        1.0 - beta2,
        1.0 - lr * weight_decay,
        lr / (1.0 - beta1**step),
        1.0 / math.sqrt(1.0 - beta2**step),
        eps,
        TILE_ROWS=tile_rows,
        TILE_COLS=tile_cols,
        num_warps=8,
    )
