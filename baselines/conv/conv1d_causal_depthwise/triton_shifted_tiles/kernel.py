"""Causal convolution of each channel with a short filter (Gu and Dao 2023): a tile of places, loaded once for each tap.

The loads are one place apart and meet in the L1 cache, so that the signal is read from memory only once.
"""

import torch
import triton
import triton.language as tl

TILE = 2048


@triton.jit
def _conv1d(
    x, weight, bias, y, rows, channels, length, x_batch, x_channel, x_place, weight_channel, weight_tap, bias_channel,
    TAPS: tl.constexpr, TILE_ROWS: tl.constexpr, TILE_COLS: tl.constexpr,
):  # fmt: skip
    across = tl.cdiv(length, TILE_COLS)
    # A row is a channel of an image of the batch.
    row = tl.program_id(0) // across * TILE_ROWS + tl.arange(0, TILE_ROWS)[:, None]
    place = (tl.program_id(0) % across).to(tl.int64) * TILE_COLS + tl.arange(0, TILE_COLS)[None, :]
    channel = (row % channels).to(tl.int64)
    signal = x + (row // channels).to(tl.int64) * x_batch + channel * x_channel
    total = tl.load(bias + channel * bias_channel, mask=row < rows, other=0.0).to(tl.float32)
    total = tl.broadcast_to(total, [TILE_ROWS, TILE_COLS])
    for u in tl.static_range(TAPS):
        seen = place - (TAPS - 1) + u
        inside = (row < rows) & (seen >= 0) & (place < length)
        value = tl.load(signal + seen * x_place, mask=inside, other=0.0).to(tl.float32)
        tap = tl.load(weight + channel * weight_channel + u * weight_tap, mask=row < rows, other=0.0).to(tl.float32)
        total += value * tap
    to = y + row.to(tl.int64) * length + place
    tl.store(to, total.to(y.dtype.element_ty), mask=(row < rows) & (place < length))


def conv1d_causal_depthwise(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, y: torch.Tensor) -> None:
    batch, channels, length = x.shape
    rows = batch * channels
    tile_cols = min(triton.next_power_of_2(length), TILE)
    tile_rows = min(TILE // tile_cols, triton.next_power_of_2(rows))
    _conv1d[(triton.cdiv(rows, tile_rows) * triton.cdiv(length, tile_cols),)](
        x,
        weight,
        bias,
        y,
        rows,
        channels,
        length,
        *x.stride(),
        *weight.stride(),
        *bias.stride(),
        TAPS=weight.shape[1],
        TILE_ROWS=tile_rows,
        TILE_COLS=tile_cols,
        num_warps=4,
    )
