"""Pointwise convolution (Lin, Chen and Yan 2013): a product over the channels, by tiles of filters and places.

Tensor cores for float16, IEEE float32 multiply-adds for float32. Places are numbered through the batch, so that small
images fill a tile together.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def _pointwise2d(
    x, weight, bias, y, places, channels, filters, height, width, x_batch, x_channel, x_row, x_col,
    weight_filter, weight_channel, bias_filter, TILE_F: tl.constexpr, TILE_P: tl.constexpr, TILE_K: tl.constexpr,
):  # fmt: skip
    tiles_f = tl.cdiv(filters, TILE_F)
    feature = (tl.program_id(0) % tiles_f).to(tl.int64) * TILE_F + tl.arange(0, TILE_F)[:, None]
    place = tl.program_id(0) // tiles_f * TILE_P + tl.arange(0, TILE_P)[None, :]
    line = place // width
    image = (line // height).to(tl.int64)
    depth = tl.arange(0, TILE_K).to(tl.int64)
    offset = (line % height).to(tl.int64) * x_row + (place % width).to(tl.int64) * x_col
    x_tile = x + image * x_batch + offset + depth[:, None] * x_channel
    weight_tile = weight + feature * weight_filter + depth[None, :] * weight_channel
    total = tl.zeros([TILE_F, TILE_P], tl.float32)
    for start in range(0, channels, TILE_K):
        left = tl.load(weight_tile, mask=(feature < filters) & (depth[None, :] < channels - start), other=0.0)
        right = tl.load(x_tile, mask=(place < places) & (depth[:, None] < channels - start), other=0.0)
        total = tl.dot(left, right, total, input_precision="ieee")
        weight_tile += TILE_K * weight_channel
        x_tile += TILE_K * x_channel
    total += tl.load(bias + feature * bias_filter, mask=feature < filters, other=0.0).to(tl.float32)
    to = y + (image * filters + feature) * (height * width) + place % (height * width)
    tl.store(to, total.to(y.dtype.element_ty), mask=(feature < filters) & (place < places))


def pointwise2d(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, y: torch.Tensor) -> None:
    batch, channels, height, width = x.shape
    filters, places = len(weight), batch * height * width
    # Few filters leave room for more places; float32 products run without tensor cores, and their tiles are smaller.
    tile_f = min(64, max(16, triton.next_power_of_2(filters)))
    tile_p = min((4096 if x.dtype == torch.float32 else 8192) // tile_f, 256, max(16, triton.next_power_of_2(places)))
    _pointwise2d[(triton.cdiv(places, tile_p) * triton.cdiv(filters, tile_f),)](
        x,
        weight,
        bias,
        y,
        places,
        channels,
        filters,
        height,
        width,
        *x.stride(),
        *weight.stride()[:2],
        *bias.stride(),
        TILE_F=tile_f,
        TILE_P=tile_p,
        TILE_K=32,
        num_warps=4 if tile_p * tile_f <= 4096 else 8,
        num_stages=4,
    )
