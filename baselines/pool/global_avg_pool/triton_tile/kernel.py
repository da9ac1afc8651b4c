"""Mean of each plane of an image (Lin, Chen and Yan 2013, section 3.2): a program reads a few planes once, in pieces.

Every lane keeps a float32 sum of its own; they meet after the last piece.
"""

import torch
import triton
import triton.language as tl

TILE = 4096


@triton.jit
def _global_avg_pool(
    x, y, planes, channels, places, width, x_batch, x_channel, x_row, x_col,
    FLAT: tl.constexpr, TILE_PLANES: tl.constexpr, TILE_PLACES: tl.constexpr,
):  # fmt: skip
    plane = tl.program_id(0) * TILE_PLANES + tl.arange(0, TILE_PLANES)[:, None]
    image = x + (plane // channels).to(tl.int64) * x_batch + (plane % channels).to(tl.int64) * x_channel
    total = tl.zeros([TILE_PLANES, TILE_PLACES], tl.float32)
    for start in range(0, places, TILE_PLACES):
        place = start + tl.arange(0, TILE_PLACES)[None, :]
        # Where rows follow each other without gaps, places need no division.
        if FLAT:
            offset = place.to(tl.int64) * x_col
        else:
            offset = (place // width).to(tl.int64) * x_row + (place % width).to(tl.int64) * x_col
        total += tl.load(image + offset, mask=(plane < planes) & (place < places), other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=1, keep_dims=True) / places
    tl.store(y + plane, mean.to(y.dtype.element_ty), mask=plane < planes)


def global_avg_pool(x: torch.Tensor, y: torch.Tensor) -> None:
    batch, channels, height, width = x.shape
    planes, places = batch * channels, height * width
    tile_places = min(triton.next_power_of_2(places), TILE)
    tile_planes = min(TILE // tile_places, triton.next_power_of_2(planes))
    _global_avg_pool[(triton.cdiv(planes, tile_planes),)](
        x,
        y,
        planes,
        channels,
        places,
        width,
        *x.stride(),
        FLAT=x.stride(2) == width * x.stride(3),
        TILE_PLANES=tile_planes,
        TILE_PLACES=tile_places,
        num_warps=8,
    )
