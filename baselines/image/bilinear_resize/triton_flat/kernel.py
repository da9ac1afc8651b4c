"""Bilinear interpolation between pixel centres (Press et al. 2007, section 3.6).

Results of all planes are numbered in one sequence, one lane each, so that small planes still fill a program;
neighbouring lanes mostly share their pixels, which the L1 cache serves.
"""

import torch
import triton
import triton.language as tl

TILE = 1024


@triton.jit
def _find(index, scale, size):
    # The pixels before and behind a new one, and how far it is from the first of them to the second.
    place = (index.to(tl.float32) + 0.5) * scale - 0.5
    before = tl.floor(place)
    first = tl.minimum(tl.maximum(before.to(tl.int32), 0), size - 1)
    second = tl.minimum(tl.maximum(before.to(tl.int32) + 1, 0), size - 1)
    return first.to(tl.int64), second.to(tl.int64), place - before


@triton.jit
def _pixel(place, inside):
    return tl.load(place, mask=inside, other=0.0).to(tl.float32)


@triton.jit
def _bilinear_resize(
    x, y, outputs, channels, height, width, out_height, out_width, down_scale, across_scale,
    x_batch, x_channel, x_row, x_col, TILE: tl.constexpr,
):  # fmt: skip
    # The task has fewer than 2^31 results; 64-bit division takes a GPU several times as long as 32-bit.
    index = tl.program_id(0) * TILE + tl.arange(0, TILE)
    inside = index < outputs
    line = index // out_width
    plane = line // out_height
    above, below, down = _find(line % out_height, down_scale, height)
    left, right, across = _find(index % out_width, across_scale, width)
    image = x + (plane // channels).to(tl.int64) * x_batch + (plane % channels).to(tl.int64) * x_channel
    upper = image + above * x_row
    lower = image + below * x_row
    # Beyond an edge both pixels are the same, and a result is exactly their value.
    first = _pixel(upper + left * x_col, inside)
    first += across * (_pixel(upper + right * x_col, inside) - first)
    second = _pixel(lower + left * x_col, inside)
    second += across * (_pixel(lower + right * x_col, inside) - second)
    tl.store(y + index, (first + down * (second - first)).to(y.dtype.element_ty), mask=inside)


def bilinear_resize(x: torch.Tensor, new_height: int, new_width: int, y: torch.Tensor) -> None:
    _, channels, height, width = x.shape
    outputs = y.numel()
    _bilinear_resize[(triton.cdiv(outputs, TILE),)](
        x,
        y,
        outputs,
        channels,
        height,
        width,
        new_height,
        new_width,
        height / new_height,
        width / new_width,
        *x.stride(),
        TILE=TILE,
        num_warps=4,
    )
