"""Group normalisation (Wu and He 2018, eq. 1, 2 and 7): programs hold whole groups in registers and read x only once.

Groups too large for that go to several programs each: the first kernel measures parts, whose means and squared
deviations the second one merges as by Chan, Golub and LeVeque (1983). No variance cancels when the mean is large.
"""

import torch
import triton
import triton.language as tl

EPSILON = tl.constexpr(1e-5)
TILE = 4096
WIDEST = 16384
MAX_PARTS = 256


@triton.jit
def _place(group, element, groups, depth, area, width, x_image, x_channel, x_row, x_col):
    # Where an element of a group lies in x.
    channel = group % groups * depth + element // area
    pixel = element % area
    image = (group // groups).to(tl.int64) * x_image + channel.to(tl.int64) * x_channel
    return image + (pixel // width).to(tl.int64) * x_row + (pixel % width).to(tl.int64) * x_col


@triton.jit
def _affine(group, element, groups, depth, area, weight, bias, weight_step, bias_step, inside):
    channel = (group % groups * depth + element // area).to(tl.int64)
    gain = tl.load(weight + channel * weight_step, mask=inside, other=0.0).to(tl.float32)
    return gain, tl.load(bias + channel * bias_step, mask=inside, other=0.0).to(tl.float32)


@triton.jit
def _group_norm(
    x, weight, bias, y, total, groups, depth, area, width, x_image, x_channel, x_row, x_col, weight_step, bias_step,
    TILE_GROUPS: tl.constexpr, TILE_SIZE: tl.constexpr,
):  # fmt: skip
    size = depth * area
    group = tl.program_id(0) * TILE_GROUPS + tl.arange(0, TILE_GROUPS)[:, None]
    element = tl.arange(0, TILE_SIZE)[None, :]
    inside = (group < total) & (element < size)
    place = _place(group, element, groups, depth, area, width, x_image, x_channel, x_row, x_col)
    value = tl.load(x + place, mask=inside, other=0.0).to(tl.float32)
    mean = tl.sum(value, axis=1, keep_dims=True) / size
    centred = tl.where(inside, value - mean, 0.0)
    # The rounded mean leaves a small common offset; what is left of it after one more pass is negligible.
    centred = tl.where(inside, centred - tl.sum(centred, axis=1, keep_dims=True) / size, 0.0)
    variance = tl.sum(centred * centred, axis=1, keep_dims=True) / size
    scale = tl.div_rn(1.0, tl.sqrt_rn(variance + EPSILON))
    gain, shift = _affine(group, element, groups, depth, area, weight, bias, weight_step, bias_step, inside)
    result = (centred * scale * gain + shift).to(y.dtype.element_ty)
    tl.store(y + group.to(tl.int64) * size + element, result, mask=inside)


@triton.jit
def _measure(
    x, means, squares, groups, depth, area, width, span, x_image, x_channel, x_row, x_col, TILE_SIZE: tl.constexpr
):
    group, begin = tl.program_id(0), tl.program_id(1) * span
    end = tl.minimum(begin + span, depth * area)
    count, mean, square = 0.0, 0.0, 0.0
    for start in range(begin, end, TILE_SIZE):
        element = start + tl.arange(0, TILE_SIZE)
        place = _place(group, element, groups, depth, area, width, x_image, x_channel, x_row, x_col)
        value = tl.load(x + place, mask=element < end, other=0.0).to(tl.float32)
        here = tl.minimum(end - start, TILE_SIZE).to(tl.float32)
        centre = tl.sum(value) / here
        centred = tl.where(element < end, value - centre, 0.0)
        apart = centre - mean
        square += tl.sum(centred * centred) + apart * apart * (count * here / (count + here))
        mean += apart * (here / (count + here))
        count += here
    part = group * tl.num_programs(1) + tl.program_id(1)
    tl.store(means + part, mean)
    tl.store(squares + part, square)


@triton.jit
def _normalise(
    x, weight, bias, means, squares, y, groups, depth, area, width, span,
    x_image, x_channel, x_row, x_col, weight_step, bias_step, TILE_SIZE: tl.constexpr, TILE_PARTS: tl.constexpr,
):  # fmt: skip
    size = depth * area
    group, begin = tl.program_id(0), tl.program_id(1) * span
    end = tl.minimum(begin + span, size)
    part = tl.arange(0, TILE_PARTS)
    there = part < tl.num_programs(1)
    count = tl.where(there, tl.minimum(size - part * span, span), 0).to(tl.float32)
    part_mean = tl.load(means + group * tl.num_programs(1) + part, mask=there, other=0.0)
    mean = tl.sum(part_mean * (count / size))
    apart = part_mean - mean
    inner = tl.load(squares + group * tl.num_programs(1) + part, mask=there, other=0.0)
    scale = tl.div_rn(1.0, tl.sqrt_rn(tl.sum(inner + apart * apart * count) / size + EPSILON))
    for start in range(begin, end, TILE_SIZE):
        element = start + tl.arange(0, TILE_SIZE)
        place = _place(group, element, groups, depth, area, width, x_image, x_channel, x_row, x_col)
        value = tl.load(x + place, mask=element < end, other=0.0).to(tl.float32)
        gain, shift = _affine(group, element, groups, depth, area, weight, bias, weight_step, bias_step, element < end)
        result = ((value - mean) * scale * gain + shift).to(y.dtype.element_ty)
        tl.store(y + group.to(tl.int64) * size + element, result, mask=element < end)


def group_norm(x: torch.Tensor, num_groups: int, weight: torch.Tensor, bias: torch.Tensor, y: torch.Tensor) -> None:
    batch, channels, height, width = x.shape
    total, depth, area = batch * num_groups, channels // num_groups, height * width
    if height == 1 or x.stride(2) == width * x.stride(3):
        width = area  # the rows of a channel follow each other without gaps: they are one
    size = depth * area
    if size <= WIDEST:
        tile_size = triton.next_power_of_2(size)
        tile_groups = min(max(1, TILE // tile_size), triton.next_power_of_2(total))
        _group_norm[(triton.cdiv(total, tile_groups),)](
            x,
            weight,
            bias,
            y,
            total,
            num_groups,
            depth,
            area,
            width,
            *x.stride(),
            *weight.stride(),
            *bias.stride(),
            TILE_GROUPS=tile_groups,
            TILE_SIZE=tile_size,
            num_warps=min(max(1, tile_groups * tile_size // 512), 16),
        )
        return
    span = triton.cdiv(triton.cdiv(size, MAX_PARTS), TILE) * TILE
    grid = (total, triton.cdiv(size, span))
    means, squares = torch.empty((2, *grid), dtype=torch.float32, device=x.device)
    _measure[grid](x, means, squares, num_groups, depth, area, width, span, *x.stride(), TILE_SIZE=TILE, num_warps=8)
    _normalise[grid](
        x,
        weight,
        bias,
        means,
        squares,
        y,
        num_groups,
        depth,
        area,
        width,
        span,
        *x.stride(),
        *weight.stride(),
        *bias.stride(),
        TILE_SIZE=TILE,
        TILE_PARTS=triton.next_power_of_2(grid[1]),
        num_warps=8,
    )
