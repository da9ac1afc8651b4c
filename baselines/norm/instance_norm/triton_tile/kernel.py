"""Instance normalisation (Ulyanov, Vedaldi and Lempitsky 2016): programs hold whole planes and read x only once.

Planes too large for that go in pieces: each lane keeps the mean and squared deviations of what it met (Welford 1962),
lanes are merged as by Chan, Golub and LeVeque (1983), and a second visit normalises.
"""

import torch
import triton
import triton.language as tl

EPSILON = tl.constexpr(1e-5)
TILE = 4096
WIDEST = 16384


@triton.jit
def _offset(place, width, x_row, x_col, FLAT: tl.constexpr):
    # Where rows follow each other without gaps, places need no division.
    if FLAT:
        offset = place.to(tl.int64) * x_col
    else:
        offset = (place // width).to(tl.int64) * x_row + (place % width).to(tl.int64) * x_col
    return offset


@triton.jit
def _instance_norm(
    x, weight, bias, y, planes, channels, places, width, x_batch, x_channel, x_row, x_col, weight_col, bias_col,
    FLAT: tl.constexpr, TILE_PLANES: tl.constexpr, TILE_PLACES: tl.constexpr,
):  # fmt: skip
    plane = tl.program_id(0) * TILE_PLANES + tl.arange(0, TILE_PLANES)[:, None]
    place = tl.arange(0, TILE_PLACES)[None, :]
    inside = (plane < planes) & (place < places)
    channel = (plane % channels).to(tl.int64)
    image = x + (plane // channels).to(tl.int64) * x_batch + channel * x_channel
    value = tl.load(image + _offset(place, width, x_row, x_col, FLAT), mask=inside, other=0.0).to(tl.float32)
    gain = tl.load(weight + channel * weight_col, mask=plane < planes, other=0.0).to(tl.float32)
    shift = tl.load(bias + channel * bias_col, mask=plane < planes, other=0.0).to(tl.float32)
    centred = tl.where(inside, value - tl.sum(value, axis=1, keep_dims=True) / places, 0.0)
    # The rounded mean leaves a small common offset; what is left of it after one more pass is negligible.
    centred = tl.where(inside, centred - tl.sum(centred, axis=1, keep_dims=True) / places, 0.0)
    variance = tl.sum(centred * centred, axis=1, keep_dims=True) / places
    scale = tl.div_rn(1.0, tl.sqrt_rn(variance + EPSILON))
    result = (centred * scale * gain + shift).to(y.dtype.element_ty)
    tl.store(y + plane.to(tl.int64) * places + place, result, mask=inside)


@triton.jit
def _instance_norm_wide(
    x, weight, bias, y, channels, places, width, x_batch, x_channel, x_row, x_col, weight_col, bias_col,
    FLAT: tl.constexpr, TILE_PLACES: tl.constexpr,
):  # fmt: skip
    plane = tl.program_id(0)
    channel = (plane % channels).to(tl.int64)
    image = x + (plane // channels).to(tl.int64) * x_batch + channel * x_channel
    lane = tl.arange(0, TILE_PLACES)
    mean = tl.zeros([TILE_PLACES], tl.float32)
    squares = tl.zeros([TILE_PLACES], tl.float32)
    count = 0.0
    for start in range(0, places, TILE_PLACES):
        place = start + lane
        inside = place < places
        value = tl.load(image + _offset(place, width, x_row, x_col, FLAT), mask=inside, other=0.0).to(tl.float32)
        count += 1.0
        # Lanes past the end, in the last piece alone, stay as they are.
        gap = tl.where(inside, value - mean, 0.0)
        mean += gap / count
        squares += gap * tl.where(inside, value - mean, 0.0)
    met = ((places - lane + TILE_PLACES - 1) // TILE_PLACES).to(tl.float32)
    middle = tl.sum(mean * met) / places
    middle += tl.sum((mean - middle) * met) / places
    gap = mean - middle
    variance = tl.sum(squares + gap * gap * met) / places
    scale = tl.div_rn(1.0, tl.sqrt_rn(variance + EPSILON)) * tl.load(weight + channel * weight_col).to(tl.float32)
    shift = tl.load(bias + channel * bias_col).to(tl.float32)
    for start in range(0, places, TILE_PLACES):
        place = start + lane
        inside = place < places
        value = tl.load(image + _offset(place, width, x_row, x_col, FLAT), mask=inside, other=0.0).to(tl.float32)
        result = ((value - middle) * scale + shift).to(y.dtype.element_ty)
        tl.store(y + plane.to(tl.int64) * places + place, result, mask=inside)


def instance_norm(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, y: torch.Tensor) -> None:
    batch, channels, height, width = x.shape
    planes, places = batch * channels, height * width
    strides = (*x.stride(), *weight.stride(), *bias.stride())
    flat = x.stride(2) == width * x.stride(3)
    if places > WIDEST:
        _instance_norm_wide[(planes,)](
            x, weight, bias, y, channels, places, width, *strides, FLAT=flat, TILE_PLACES=TILE, num_warps=8
        )
        return
    tile_places = triton.next_power_of_2(places)
    tile_planes = min(max(1, TILE // tile_places), triton.next_power_of_2(planes))
    _instance_norm[(triton.cdiv(planes, tile_planes),)](
        x,
        weight,
        bias,
        y,
        planes,
        channels,
        places,
        width,
        *strides,
        FLAT=flat,
        TILE_PLANES=tile_planes,
        TILE_PLACES=tile_places,
        num_warps=min(max(1, tile_planes * tile_places // 512), 16),
    )
