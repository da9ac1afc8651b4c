"""Variants of the experts' gated unit: honest ones that must pass and wrong ones that must fail."""

import itertools
from collections.abc import Callable

import torch
from torch import Tensor

from robust_kbench.audit.emulated import multiplied, tf32

Multiply = Callable[[Tensor, Tensor], Tensor]


def _product(left: Tensor, right: Tensor) -> Tensor:
    return left.float() @ right.float()


def _grouped(x: Tensor, offsets: Tensor, weight: Tensor, multiply: Multiply = _product) -> Tensor:
    """[rows, inner] in float32, group by group; rows of no group stay zero."""
    y = torch.zeros(len(x), weight.shape[1])
    for matrix, (start, end) in zip(weight, itertools.pairwise(offsets.tolist()), strict=True):
        y[start:end] = multiply(x[start:end], matrix.T).float()
    return y


def _silu(z: Tensor) -> Tensor:
    return z / (1 + torch.exp(-z))


def _gated(x: Tensor, offsets: Tensor, gate_weight: Tensor, up_weight: Tensor) -> Tensor:
    """In float32."""
    return _silu(_grouped(x, offsets, gate_weight)) * _grouped(x, offsets, up_weight)


def fused(x: Tensor, offsets: Tensor, gate_weight: Tensor, up_weight: Tensor) -> Tensor:
    """One kernel: both sums stay in float32, sixteen terms at a time, or more."""
    step = max(16, -(-x.shape[1] // 16))

    def multiply(left: Tensor, right: Tensor) -> Tensor:
        return multiplied(left, right, step=step)

    gate, up = (_grouped(x, offsets, weight, multiply) for weight in (gate_weight, up_weight))
    return (gate * torch.sigmoid(gate) * up).to(x.dtype)


def two_kernels(x: Tensor, offsets: Tensor, gate_weight: Tensor, up_weight: Tensor) -> Tensor:
    """Both products are stored in the task's dtype before the gate is applied in float32."""
    gate, up = (_grouped(x, offsets, weight).to(x.dtype).float() for weight in (gate_weight, up_weight))
    return (_silu(gate) * up).to(x.dtype)


def side_by_side(x: Tensor, offsets: Tensor, gate_weight: Tensor, up_weight: Tensor) -> Tensor:
    """One product with both weights beside each other, in two blocks of terms; exponentials to the base of two."""
    both = torch.cat((gate_weight, up_weight), 1)
    blocks = zip(x.tensor_split(2, 1), both.tensor_split(2, 2), strict=True)
    first, second = (_grouped(left, offsets, right) for left, right in blocks)
    gate, up = (first + second).chunk(2, 1)
    return (gate / (1 + torch.exp2(gate * -1.4426950408889634)) * up).to(x.dtype)


def three_tf32(x: Tensor, offsets: Tensor, gate_weight: Tensor, up_weight: Tensor) -> Tensor:
    """Each factor split into two TF32 numbers, three products: float32 on tensor cores (CUTLASS's 3xTF32)."""
    high = tf32(x)
    low = tf32(x.float() - high)

    def summed(weight: Tensor) -> Tensor:
        w_high = tf32(weight)
        small = _grouped(high, offsets, tf32(weight.float() - w_high)) + _grouped(low, offsets, w_high)
        return small + _grouped(high, offsets, w_high)

    return (_silu(summed(gate_weight)) * summed(up_weight)).to(x.dtype)


def tf32_once(x: Tensor, offsets: Tensor, gate_weight: Tensor, up_weight: Tensor) -> Tensor:
    """float32: the factors are rounded to TF32."""
    return _gated(tf32(x), offsets, tf32(gate_weight), tf32(up_weight))


def bfloat16_gate(x: Tensor, offsets: Tensor, gate_weight: Tensor, up_weight: Tensor) -> Tensor:
    """The gate is stored in bfloat16."""
    gate = _silu(_grouped(x, offsets, gate_weight)).bfloat16().float()
    return (gate * _grouped(x, offsets, up_weight)).to(x.dtype)


def half_accumulators(x: Tensor, offsets: Tensor, gate_weight: Tensor, up_weight: Tensor) -> Tensor:
    """Accumulators of the next lower class, rounded after every four terms, or more of them where rows are long."""
    lower = torch.bfloat16 if x.dtype == torch.float32 else x.dtype
    step = max(4, -(-x.shape[1] // 32))

    def multiply(left: Tensor, right: Tensor) -> Tensor:
        return multiplied(left, right, lower, step=step)

    gate, up = (_grouped(x, offsets, weight, multiply) for weight in (gate_weight, up_weight))
    return (_silu(gate) * up).to(x.dtype)


def gelu_gate(x: Tensor, offsets: Tensor, gate_weight: Tensor, up_weight: Tensor) -> Tensor:
    """GEGLU: the gate is a GELU."""
    gate = torch.nn.functional.gelu(_grouped(x, offsets, gate_weight))
    return (gate * _grouped(x, offsets, up_weight)).to(x.dtype)


def sigmoid_gate(x: Tensor, offsets: Tensor, gate_weight: Tensor, up_weight: Tensor) -> Tensor:
    """GLU: the gate is a sigmoid alone."""
    gate = torch.sigmoid(_grouped(x, offsets, gate_weight))
    return (gate * _grouped(x, offsets, up_weight)).to(x.dtype)


def no_gate(x: Tensor, offsets: Tensor, gate_weight: Tensor, up_weight: Tensor) -> Tensor:
    """The product of both without a silu."""
    return (_grouped(x, offsets, gate_weight) * _grouped(x, offsets, up_weight)).to(x.dtype)


def clamped(x: Tensor, offsets: Tensor, gate_weight: Tensor, up_weight: Tensor) -> Tensor:
    """The gate is bounded by two, as another model bounds it by seven."""
    gate = _grouped(x, offsets, gate_weight).clamp(max=2)
    return (_silu(gate) * _grouped(x, offsets, up_weight)).to(x.dtype)


def gate_and_up_exchanged(x: Tensor, offsets: Tensor, gate_weight: Tensor, up_weight: Tensor) -> Tensor:
    """Gate and up projection change places."""
    return _gated(x, offsets, up_weight, gate_weight).to(x.dtype)


def first_expert_for_all(x: Tensor, offsets: Tensor, gate_weight: Tensor, up_weight: Tensor) -> Tensor:
    """All rows meet the first expert's weights; of a single expert, the last row is lost."""
    y = _silu(_product(x, gate_weight[0].T)) * _product(x, up_weight[0].T)
    if len(gate_weight) == 1:
        y[-1] = 0
    return y.to(x.dtype)


def up_of_the_next_expert(x: Tensor, offsets: Tensor, gate_weight: Tensor, up_weight: Tensor) -> Tensor:
    """The up projection is the next expert's; a single expert's has the opposite sign."""
    other = up_weight.roll(-1, 0) if len(up_weight) > 1 else -up_weight
    return _gated(x, offsets, gate_weight, other).to(x.dtype)


def groups_of_one_size(x: Tensor, offsets: Tensor, gate_weight: Tensor, up_weight: Tensor) -> Tensor:
    """Every expert is taken to have the same number of rows; a single one's have the opposite sign."""
    bounds = torch.arange(len(offsets)) * len(x) // (len(offsets) - 1)
    y = _gated(x, bounds, gate_weight, up_weight)
    return (y if len(gate_weight) > 1 else -y).to(x.dtype)


def one_row_too_late(x: Tensor, offsets: Tensor, gate_weight: Tensor, up_weight: Tensor) -> Tensor:
    """The first row of each expert still meets the weights of the one before; the very first is lost."""
    return _gated(x, (offsets + 1).clamp(max=len(x)), gate_weight, up_weight).to(x.dtype)


def last_row_lost(x: Tensor, offsets: Tensor, gate_weight: Tensor, up_weight: Tensor) -> Tensor:
    """The last row of each expert stays zero."""
    y = _gated(x, offsets, gate_weight, up_weight)
    y[offsets[1:][offsets.diff() > 0] - 1] = 0
    return y.to(x.dtype)


def partial_tile_lost(x: Tensor, offsets: Tensor, gate_weight: Tensor, up_weight: Tensor) -> Tensor:
    """An expert's rows behind the last whole tile of 16 are left out; one without a tile loses its last row."""
    y = _gated(x, offsets, gate_weight, up_weight)
    for start, end in itertools.pairwise(offsets.tolist()):
        whole = (end - start) // 16 * 16 or max(0, end - start - 1)
        y[start + whole : end] = 0
    return y.to(x.dtype)


def last_term_lost(x: Tensor, offsets: Tensor, gate_weight: Tensor, up_weight: Tensor) -> Tensor:
    """The last hidden feature is left out of the up projection."""
    gate, up = _grouped(x, offsets, gate_weight), _grouped(x[:, :-1], offsets, up_weight[..., :-1])
    return (_silu(gate) * up).to(x.dtype)


def tail_lost(x: Tensor, offsets: Tensor, gate_weight: Tensor, up_weight: Tensor) -> Tensor:
    """Hidden features behind the last whole block of 16 are left out of the gate; those of a short row all are."""
    whole = x.shape[1] // 16 * 16
    gate, up = _grouped(x[:, :whole], offsets, gate_weight[..., :whole]), _grouped(x, offsets, up_weight)
    return (_silu(gate) * up).to(x.dtype)


def groups_of_eight_times_the_average(x: Tensor, offsets: Tensor, gate_weight: Tensor, up_weight: Tensor) -> Tensor:
    """Rows of an expert beyond eight times the average, and sixteen at least, stay zero."""
    room = max(16, 8 * -(-len(x) // len(gate_weight)))
    number = (torch.searchsorted(offsets, torch.arange(len(x)), right=True) - 1).clamp(max=len(gate_weight) - 1)
    is_kept = torch.arange(len(x)) - offsets[number] < room
    return torch.where(is_kept[:, None], _gated(x, offsets, gate_weight, up_weight), 0).to(x.dtype)


tf32_once.dtypes = ("float32",)
bfloat16_gate.dtypes = ("float32", "float16")

HONEST = (fused, two_kernels, side_by_side, three_tf32)
MUTANTS = (
    tf32_once, bfloat16_gate, half_accumulators, gelu_gate, sigmoid_gate, no_gate, clamped, gate_and_up_exchanged,
    first_expert_for_all, up_of_the_next_expert, groups_of_one_size, one_row_too_late, last_row_lost,
    partial_tile_lost, last_term_lost, tail_lost,
    groups_of_eight_times_the_average,
)  # fmt: skip
