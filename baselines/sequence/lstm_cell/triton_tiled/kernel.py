"""One step of an LSTM layer (Hochreiter and Schmidhuber 1997; Gers et al. 2000) in one kernel.

A program has some rows of the batch and all four gates of some units, so that sums become states in its registers.
Tensor cores multiply float16; float32 takes IEEE multiply-adds.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def _tanh(z):
    # Near zero a quotient of Lambert's continued fraction (1768), whose error is below 1e-8; elsewhere the definition,
    # which would cancel there.
    square = z * z
    near = z * (945.0 + square * (105.0 + square)) / (945.0 + square * (420.0 + square * 15.0))
    far = 1.0 - 2.0 / (tl.exp(2.0 * tl.abs(z)) + 1.0)
    return tl.where(tl.abs(z) < 0.75, near, tl.where(z < 0.0, -far, far))


@triton.jit
def _add_products(
    enter, forget, value, leave, left, weight, row, unit, batch, units, terms,
    left_row, left_col, weight_row, weight_col, TILE_K: tl.constexpr,
):  # fmt: skip
    depth = tl.arange(0, TILE_K).to(tl.int64)
    left_tile = left + row * left_row + depth[None, :] * left_col
    # Each unit has its own row of each gate's weights: the tiles are read transposed.
    weight_tile = weight + unit * weight_row + depth[:, None] * weight_col
    gate = units * weight_row
    for start in range(0, terms, TILE_K):
        factor = tl.load(left_tile, mask=(row < batch) & (depth[None, :] < terms - start), other=0.0)
        there = (unit < units) & (depth[:, None] < terms - start)
        enter = tl.dot(factor, tl.load(weight_tile, mask=there, other=0.0), enter, input_precision="ieee")
        forget = tl.dot(factor, tl.load(weight_tile + gate, mask=there, other=0.0), forget, input_precision="ieee")
        value = tl.dot(factor, tl.load(weight_tile + 2 * gate, mask=there, other=0.0), value, input_precision="ieee")
        leave = tl.dot(factor, tl.load(weight_tile + 3 * gate, mask=there, other=0.0), leave, input_precision="ieee")
        left_tile += TILE_K * left_col
        weight_tile += TILE_K * weight_col
    return enter, forget, value, leave


@triton.jit
def _lstm_cell(
    x, h, c, weight_ih, weight_hh, bias, new_h, new_c, batch, inputs, units,
    x_row, x_col, h_row, h_col, c_row, c_col, ih_row, ih_col, hh_row, hh_col, bias_place,
    TILE_M: tl.constexpr, TILE_N: tl.constexpr, TILE_K: tl.constexpr,
):  # fmt: skip
    # Programs that run together have the same units, and share their weights in the L2 cache.
    tiles = tl.cdiv(batch, TILE_M)
    row = (tl.program_id(0) % tiles).to(tl.int64) * TILE_M + tl.arange(0, TILE_M)[:, None]
    unit = (tl.program_id(0) // tiles).to(tl.int64) * TILE_N + tl.arange(0, TILE_N)[None, :]
    enter = tl.zeros([TILE_M, TILE_N], tl.float32)
    forget = tl.zeros([TILE_M, TILE_N], tl.float32)
    value = tl.zeros([TILE_M, TILE_N], tl.float32)
    leave = tl.zeros([TILE_M, TILE_N], tl.float32)
    enter, forget, value, leave = _add_products(
        enter, forget, value, leave, x, weight_ih, row, unit, batch, units, inputs, x_row, x_col, ih_row, ih_col, TILE_K
    )
    enter, forget, value, leave = _add_products(
        enter, forget, value, leave, h, weight_hh, row, unit, batch, units, units, h_row, h_col, hh_row, hh_col, TILE_K
    )
    there = unit < units
    enter += tl.load(bias + unit * bias_place, mask=there, other=0.0).to(tl.float32)
    forget += tl.load(bias + (units + unit) * bias_place, mask=there, other=0.0).to(tl.float32)
    value += tl.load(bias + (2 * units + unit) * bias_place, mask=there, other=0.0).to(tl.float32)
    leave += tl.load(bias + (3 * units + unit) * bias_place, mask=there, other=0.0).to(tl.float32)
    inside = (row < batch) & there
    state = tl.load(c + row * c_row + unit * c_col, mask=inside, other=0.0).to(tl.float32)
    state = tl.sigmoid(forget) * state + tl.sigmoid(enter) * _tanh(value)
    place = row * units + unit
    tl.store(new_c + place, state.to(new_c.dtype.element_ty), mask=inside)
    tl.store(new_h + place, (tl.sigmoid(leave) * _tanh(state)).to(new_h.dtype.element_ty), mask=inside)


def lstm_cell(
    x: torch.Tensor,
    h: torch.Tensor,
    c: torch.Tensor,
    weight_ih: torch.Tensor,
    weight_hh: torch.Tensor,
    bias: torch.Tensor,
    new_h: torch.Tensor,
    new_c: torch.Tensor,
) -> None:
    (batch, inputs), units = x.shape, h.shape[1]
    tile_m, tile_n, warps = (32, 32, 4) if x.dtype == torch.float32 else (64, 64, 8)
    tile_m = min(tile_m, max(16, triton.next_power_of_2(batch)))
    tile_n = min(tile_n, max(16, triton.next_power_of_2(units)))
    _lstm_cell[(triton.cdiv(batch, tile_m) * triton.cdiv(units, tile_n),)](
        x,
        h,
        c,
        weight_ih,
        weight_hh,
        bias,
        new_h,
        new_c,
        batch,
        inputs,
        units,
        *x.stride(),
        *h.stride(),
        *c.stride(),
        *weight_ih.stride(),
        *weight_hh.stride(),
        *bias.stride(),
        TILE_M=tile_m,
        TILE_N=tile_n,
        TILE_K=32,
        num_warps=warps,
        num_stages=3,
    )
