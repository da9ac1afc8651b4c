"""Max pooling: outputs of all planes numbered in one sequence, one lane each, so small planes still fill a program.

Neighbouring lanes read overlapping windows; the overlap is served by the L1 cache.
"""

import torch
import triton
import triton.language as tl

TILE = 2048


@triton.jit
def _max_pool2d(
    x, y, outputs, channels, out_height, out_width, x_batch, x_channel, x_row, x_col,
    WINDOW: tl.constexpr, STEP: tl.constexpr, WIDE: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    first = tl.program_id(0)
    # Dividing 64-bit integers takes a GPU several times as long as 32-bit ones.
    if WIDE:
        first = first.to(tl.int64)
    index = first * TILE + tl.arange(0, TILE)
    inside = index < outputs
    line = index // out_width
    plane = line // out_height
    image = plane // channels
    top = (line - plane * out_height).to(tl.int64) * STEP
    left = (index - line * out_width).to(tl.int64) * STEP
    corner = x + image.to(tl.int64) * x_batch + (plane - image * channels).to(tl.int64) * x_channel
    corner += top * x_row + left * x_col
    best = tl.full([TILE], -float("inf"), tl.float32)
    for down in range(WINDOW):
        for right in range(WINDOW):
            value = tl.load(corner + down * x_row + right * x_col, mask=inside, other=0.0).to(tl.float32)
            best = tl.maximum(best, value, propagate_nan=tl.PropagateNan.ALL)
    tl.store(y + index, best.to(y.dtype.element_ty), mask=inside)


def max_pool2d(x: torch.Tensor, kernel_size: int, stride: int, y: torch.Tensor) -> None:
    channels = x.shape[1]
    outputs = y.numel()
    _max_pool2d[(triton.cdiv(outputs, TILE),)](
        x,
        y,
        outputs,
        channels,
        *y.shape[2:],
        *x.stride(),
        WINDOW=kernel_size,
        STEP=stride,
        WIDE=outputs + TILE > 2**31 - 1,
        TILE=TILE,
        num_warps=8,
    )
