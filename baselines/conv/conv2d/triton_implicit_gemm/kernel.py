"""Convolution as a matrix product whose left factor, a row for each output place, is never stored (implicit GEMM).

Source: Chetlur et al. 2014, arXiv:1410.0759. Tensor cores for float16, IEEE float32 multiply-adds for float32. Places
are numbered through the batch, so that small images fill a tile together.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def _conv2d(
    x, weight, bias, y, places, channels, filters, height, width, out_height, out_width, stride, padding,
    x_batch, x_channel, x_row, x_col, weight_filter, weight_channel, weight_row, weight_col, bias_filter,
    KH: tl.constexpr, KW: tl.constexpr, TILE_P: tl.constexpr, TILE_F: tl.constexpr, TILE_K: tl.constexpr,
):  # fmt: skip
    tiles_f = tl.cdiv(filters, TILE_F)
    place = tl.program_id(0) // tiles_f * TILE_P + tl.arange(0, TILE_P)[:, None]
    feature = tl.program_id(0) % tiles_f * TILE_F + tl.arange(0, TILE_F)[None, :]
    line = place // out_width
    image = (line // out_height).to(tl.int64)
    top = line % out_height * stride - padding
    left = place % out_width * stride - padding
    terms = channels * KH * KW
    total = tl.zeros([TILE_P, TILE_F], tl.float32)
    for start in range(0, terms, TILE_K):
        across, down = start + tl.arange(0, TILE_K)[None, :], start + tl.arange(0, TILE_K)[:, None]
        row = top + across // KW % KH
        col = left + across % KW
        inside = (place < places) & (across < terms) & (row >= 0) & (row < height) & (col >= 0) & (col < width)
        offset = (across // (KH * KW)).to(tl.int64) * x_channel + row.to(tl.int64) * x_row + col.to(tl.int64) * x_col
        window = tl.load(x + image * x_batch + offset, mask=inside, other=0.0)
        offset = (
            (down // (KH * KW)).to(tl.int64) * weight_channel + down // KW % KH * weight_row + down % KW * weight_col
        )
        offset += feature.to(tl.int64) * weight_filter
        taps = tl.load(weight + offset, mask=(feature < filters) & (down < terms), other=0.0)
        total = tl.dot(window, taps, total, input_precision="ieee")
    total += tl.load(bias + feature * bias_filter, mask=feature < filters, other=0.0).to(tl.float32)
    area = out_height * out_width
    to = y + (image * filters + feature) * area + place % area
    tl.store(to, total.to(y.dtype.element_ty), mask=(place < places) & (feature < filters))


def conv2d(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int, padding: int, y: torch.Tensor
) -> None:
    batch, filters, out_height, out_width = y.shape
    places = batch * out_height * out_width
    # Few filters leave room for more places; float32 products run without tensor cores, and their tiles are smaller.
    tile_f = min(64, max(16, triton.next_power_of_2(filters)))
    tile_p = min((4096 if x.dtype == torch.float32 else 8192) // tile_f, 256, max(16, triton.next_power_of_2(places)))
    _conv2d[(triton.cdiv(places, tile_p) * triton.cdiv(filters, tile_f),)](
        x,
        weight,
        bias,
        y,
        places,
        x.shape[1],
        filters,
        *x.shape[2:],
        out_height,
        out_width,
        stride,
        padding,
        *x.stride(),
        *weight.stride(),
        *bias.stride(),
        KH=weight.shape[2],
        KW=weight.shape[3],
        TILE_P=tile_p,
        TILE_F=tile_f,
        TILE_K=32,
        num_warps=4 if tile_p * tile_f <= 4096 else 8,
        num_stages=3,
    )
