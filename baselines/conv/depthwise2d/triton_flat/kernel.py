"""Depthwise convolution (Howard et al. 2017): outputs of all planes in one sequence, so small planes fill a program.

Each lane has one output, and the taps of its window are unrolled. Overlapping windows, and the filters, which
neighbouring lanes mostly share, meet in the L1 cache.
"""

import torch
import triton
import triton.language as tl

TILE = 1024


@triton.jit
def _depthwise2d(
    x, weight, bias, y, outputs, channels, height, width, out_height, out_width, stride, padding,
    x_batch, x_channel, x_row, x_col, weight_channel, weight_row, weight_col, bias_channel,
    KH: tl.constexpr, KW: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    # The task has fewer than 2^31 outputs; 64-bit division takes a GPU several times as long as 32-bit.
    index = tl.program_id(0) * TILE + tl.arange(0, TILE)
    inside = index < outputs
    line = index // out_width
    plane = line // out_height
    image = (plane // channels).to(tl.int64)
    channel = (plane % channels).to(tl.int64)
    top = line % out_height * stride - padding
    left = index % out_width * stride - padding
    corner = x + image * x_batch + channel * x_channel
    taps = weight + channel * weight_channel
    total = tl.load(bias + channel * bias_channel, mask=inside, other=0.0).to(tl.float32)
    for u in tl.static_range(KH):
        row = top + u
        there = inside & (row >= 0) & (row < height)
        for v in tl.static_range(KW):
            col = left + v
            place = corner + row.to(tl.int64) * x_row + col.to(tl.int64) * x_col
            value = tl.load(place, mask=there & (col >= 0) & (col < width), other=0.0).to(tl.float32)
            total += value * tl.load(taps + u * weight_row + v * weight_col, mask=inside, other=0.0).to(tl.float32)
    tl.store(y + index, total.to(y.dtype.element_ty), mask=inside)


def depthwise2d(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int, padding: int, y: torch.Tensor
) -> None:
    outputs = y.numel()
    _depthwise2d[(triton.cdiv(outputs, TILE),)](
        x,
        weight,
        bias,
        y,
        outputs,
        *x.shape[1:],
        *y.shape[2:],
        stride,
        padding,
        *x.stride(),
        weight.stride(0),
        *weight.stride()[2:],
        *bias.stride(),
        KH=weight.shape[2],
        KW=weight.shape[3],
        TILE=TILE,
        num_warps=8,
    )
