"""One step of gradient descent with momentum (Sutskever et al. 2013) in one pass over tiles of 4096 elements.

Without gaps the tensors are one long row; other layouts go in square tiles, coalesced along rows and columns alike.
"""

import torch
import triton
import triton.language as tl

TILE = 4096


@triton.jit
def _sgd(
    param, grad, velocity, new_param, new_velocity, rows, cols, param_row, param_col, grad_row, grad_col,
    velocity_row, velocity_col, lr, momentum, decay, TILE_ROWS: tl.constexpr, TILE_COLS: tl.constexpr,
):  # fmt: skip
    across = tl.cdiv(cols, TILE_COLS)
    row = (tl.program_id(0) // across).to(tl.int64) * TILE_ROWS + tl.arange(0, TILE_ROWS)[:, None]
    col = (tl.program_id(0) % across).to(tl.int64) * TILE_COLS + tl.arange(0, TILE_COLS)[None, :]
    inside = (row < rows) & (col < cols)
    p = tl.load(param + row * param_row + col * param_col, mask=inside, other=0.0).to(tl.float32)
    g = tl.load(grad + row * grad_row + col * grad_col, mask=inside, other=0.0).to(tl.float32)
    v = tl.load(velocity + row * velocity_row + col * velocity_col, mask=inside, other=0.0).to(tl.float32)
    v = momentum * v + (g + decay * p)
    p = p - lr * v
    place = row * cols + col
    tl.store(new_param + place, p.to(new_param.dtype.element_ty), mask=inside)
    tl.store(new_velocity + place, v.to(new_velocity.dtype.element_ty), mask=inside)


def sgd_momentum_step(
    param: torch.Tensor,
    grad: torch.Tensor,
    momentum_buffer: torch.Tensor,
    lr: float,
    momentum: float,
    weight_decay: float,
    new_param: torch.Tensor,
    new_momentum_buffer: torch.Tensor,
) -> None:
    if param.numel() == 0:
        return
    read = [param, grad, momentum_buffer]
    if all(tensor.is_contiguous() for tensor in read):
        read = [tensor.view(1, -1) for tensor in read]
    rows, cols = read[0].shape
    tile_cols = min(triton.next_power_of_2(cols), TILE if rows == 1 else 64)
    tile_rows = min(TILE // tile_cols, triton.next_power_of_2(rows))
    _sgd[(triton.cdiv(rows, tile_rows) * triton.cdiv(cols, tile_cols),)](
        *read,
        new_param,
        new_momentum_buffer,
        rows,
        cols,
        *(stride for tensor in read for stride in tensor.stride()),
        lr,
        momentum,
        weight_decay,
        TILE_ROWS=tile_rows,
        TILE_COLS=tile_cols,
        num_warps=8,
    )
