"""Batch normalisation at inference (Ioffe and Szegedy 2015, algorithm 2) in tiles of planes, an image's channel each.

Tiles are long where the pixels of a plane are neighbours, and square where channels or columns are: then reads along
one side and writes along the other are both coalesced.
"""

import torch
import triton
import triton.language as tl

EPSILON = tl.constexpr(1e-5)
TILE = 4096


@triton.jit
def _batch_norm(
    x, weight, bias, running_mean, running_var, y, planes, channels, area, width,
    x_image, x_channel, x_row, x_col, weight_step, bias_step, mean_step, var_step,
    TILE_PLANES: tl.constexpr, TILE_PIXELS: tl.constexpr,
):  # fmt: skip
    across = tl.cdiv(area, TILE_PIXELS)
    plane = tl.program_id(0) // across * TILE_PLANES + tl.arange(0, TILE_PLANES)[:, None]
    pixel = tl.program_id(0) % across * TILE_PIXELS + tl.arange(0, TILE_PIXELS)[None, :]
    inside = (plane < planes) & (pixel < area)
    channel = (plane % channels).to(tl.int64)
    start = (plane // channels).to(tl.int64) * x_image + channel * x_channel
    place = (pixel // width).to(tl.int64) * x_row + (pixel % width).to(tl.int64) * x_col
    value = tl.load(x + start + place, mask=inside, other=0.0).to(tl.float32)
    mean = tl.load(running_mean + channel * mean_step).to(tl.float32)
    variance = tl.load(running_var + channel * var_step).to(tl.float32)
    # One scalar a plane: the correctly rounded operations cost nothing.
    scale = tl.div_rn(tl.load(weight + channel * weight_step).to(tl.float32), tl.sqrt_rn(variance + EPSILON))
    result = (value - mean) * scale + tl.load(bias + channel * bias_step).to(tl.float32)
    tl.store(y + plane.to(tl.int64) * area + pixel, result.to(y.dtype.element_ty), mask=inside)


def batch_norm(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor,
    running_mean: torch.Tensor,
    running_var: torch.Tensor,
    y: torch.Tensor,
) -> None:
    batch, channels, height, width = x.shape
    planes, area = batch * channels, height * width
    if height == 1 or x.stride(2) == width * x.stride(3):
        width = area  # the rows of a plane follow each other without gaps: they are one
    tile_pixels = min(triton.next_power_of_2(area), TILE if x.stride(3) == 1 else 64)
    tile_planes = min(TILE // tile_pixels, triton.next_power_of_2(planes))
    _batch_norm[(triton.cdiv(planes, tile_planes) * triton.cdiv(area, tile_pixels),)](
        x,
        weight,
        bias,
        running_mean,
        running_var,
        y,
        planes,
        channels,
        area,
        width,
        *x.stride(),
        *weight.stride(),
        *bias.stride(),
        *running_mean.stride(),
        *running_var.stride(),
        TILE_PLANES=tile_planes,
        TILE_PIXELS=tile_pixels,
        num_warps=8,
    )
