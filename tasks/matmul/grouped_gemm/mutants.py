"""Variants of the grouped product: honest ones that must pass and wrong ones that must fail."""

import itertools
from collections.abc import Callable

import torch
from torch import Tensor

from robust_kbench.audit.emulated import multiplied, tf32

Multiply = Callable[[Tensor, Tensor], Tensor]


def _product(left: Tensor, right: Tensor) -> Tensor:
    return left.float() @ right.float()


def _grouped(x: Tensor, offsets: Tensor, weight: Tensor, multiply: Multiply = _product) -> Tensor:
    """Group by group, in float32; rows of no group stay zero."""
    y = torch.zeros(len(x), weight.shape[2])
    for matrix, (start, end) in zip(weight, itertools.pairwise(offsets.tolist()), strict=True):
        y[start:end] = multiply(x[start:end], matrix).float()
    return y


def _number(x: Tensor, offsets: Tensor) -> Tensor:
    """The group of each row."""
    return torch.searchsorted(offsets, torch.arange(len(x)), right=True) - 1


def tensor_core(x: Tensor, offsets: Tensor, weight: Tensor) -> Tensor:
    """Sixteen terms at a time, or more, into float32 accumulators."""
    step = max(16, -(-x.shape[1] // 16))
    return _grouped(x, offsets, weight, lambda left, right: multiplied(left, right, step=step)).to(x.dtype)


def tiles_of_rows(x: Tensor, offsets: Tensor, weight: Tensor) -> Tensor:
    """Each tile of rows is multiplied by the matrices of all groups that it meets, rows of others being zeros."""
    number, y = _number(x, offsets), torch.zeros(len(x), weight.shape[2])
    for group in range(len(weight)):
        y += _product(x.masked_fill((number != group).unsqueeze(1), 0), weight[group])
    return y.to(x.dtype)


def split_k(x: Tensor, offsets: Tensor, weight: Tensor) -> Tensor:
    """Four blocks of k, each summed on its own in float32, added at the end."""
    blocks = zip(x.tensor_split(4, 1), weight.tensor_split(4, 1), strict=True)
    parts = [_grouped(left, offsets, right) for left, right in blocks]
    return ((parts[0] + parts[1]) + (parts[2] + parts[3])).to(x.dtype)


def three_tf32(x: Tensor, offsets: Tensor, weight: Tensor) -> Tensor:
    """Each factor split into two TF32 numbers, three products: float32 on tensor cores (CUTLASS's 3xTF32)."""
    x_high, w_high = tf32(x), tf32(weight)
    x_low, w_low = tf32(x.float() - x_high), tf32(weight.float() - w_high)
    small = _grouped(x_high, offsets, w_low) + _grouped(x_low, offsets, w_high)
    return (small + _grouped(x_high, offsets, w_high)).to(x.dtype)


def tf32_once(x: Tensor, offsets: Tensor, weight: Tensor) -> Tensor:
    """float32: the factors are rounded to TF32."""
    return _grouped(tf32(x), offsets, tf32(weight))


def bfloat16_weight(x: Tensor, offsets: Tensor, weight: Tensor) -> Tensor:
    """The matrices are kept in bfloat16."""
    return _grouped(x, offsets, weight.bfloat16()).to(x.dtype)


def half_accumulators(x: Tensor, offsets: Tensor, weight: Tensor) -> Tensor:
    """Accumulators of the next lower class, rounded after every four terms, or more of them where k is long."""
    lower = torch.bfloat16 if x.dtype == torch.float32 else x.dtype
    step = max(4, -(-x.shape[1] // 32))
    return _grouped(x, offsets, weight, lambda left, right: multiplied(left, right, lower, step=step)).to(x.dtype)


def first_matrix_for_all(x: Tensor, offsets: Tensor, weight: Tensor) -> Tensor:
    """All rows meet the first matrix; of a single group, the last row is lost."""
    y = _product(x, weight[0])
    if len(weight) == 1:
        y[-1] = 0
    return y.to(x.dtype)


def groups_of_one_size(x: Tensor, offsets: Tensor, weight: Tensor) -> Tensor:
    """Every group is taken to have the same number of rows; of a single group, the sign is lost."""
    bounds = torch.arange(len(offsets)) * len(x) // (len(offsets) - 1)
    y = _grouped(x, bounds, weight)
    return (y if len(weight) > 1 else -y).to(x.dtype)


def next_matrix(x: Tensor, offsets: Tensor, weight: Tensor) -> Tensor:
    """Groups are counted from one; a single matrix has the opposite sign."""
    return _grouped(x, offsets, weight.roll(-1, 0) if len(weight) > 1 else -weight).to(x.dtype)


def one_row_too_late(x: Tensor, offsets: Tensor, weight: Tensor) -> Tensor:
    """The first row of each group still meets the matrix of the group before; the very first is lost."""
    bounds = (offsets + 1).clamp(max=len(x))
    return _grouped(x, bounds, weight).to(x.dtype)


def last_row_lost(x: Tensor, offsets: Tensor, weight: Tensor) -> Tensor:
    """The last row of each group stays zero."""
    y = _grouped(x, offsets, weight)
    y[offsets[1:][offsets.diff() > 0] - 1] = 0
    return y.to(x.dtype)


def partial_tile_lost(x: Tensor, offsets: Tensor, weight: Tensor) -> Tensor:
    """Rows of a group behind the last whole tile of 16 are left out; a group without one loses its last row."""
    y = _grouped(x, offsets, weight)
    for start, end in itertools.pairwise(offsets.tolist()):
        whole = (end - start) // 16 * 16 or max(0, end - start - 1)
        y[start + whole : end] = 0
    return y.to(x.dtype)


def one_matrix_for_a_tile(x: Tensor, offsets: Tensor, weight: Tensor) -> Tensor:
    """Tiles of eight rows meet the matrix of their first row; a row of a single group, nothing."""
    number = _number(x, offsets)[torch.arange(len(x)) // 8 * 8]
    y = torch.zeros(len(x), weight.shape[2])
    for group in range(len(weight)):
        y[number == group] = _product(x[number == group], weight[group])
    return (y if len(weight) > 1 else 0 * y).to(x.dtype)


def last_group_lost(x: Tensor, offsets: Tensor, weight: Tensor) -> Tensor:
    """The rows of the last group that has any stay zero."""
    y = _grouped(x, offsets, weight)
    number = _number(x, offsets)
    y[number == number[-1]] = 0
    return y.to(x.dtype)


def empty_groups_skipped(x: Tensor, offsets: Tensor, weight: Tensor) -> Tensor:
    """Empty groups are not counted; where there are none, the very last element is lost."""
    bounds = offsets.unique()
    y = _grouped(x, bounds, weight[: len(bounds) - 1])
    if len(bounds) == len(offsets):
        y[-1, -1] = 0
    return y.to(x.dtype)


def matrices_transposed(x: Tensor, offsets: Tensor, weight: Tensor) -> Tensor:
    """The memory of each matrix is read as [cols, k]."""
    groups, k, cols = weight.shape
    return _grouped(x, offsets, weight.reshape(groups, cols, k).transpose(1, 2)).to(x.dtype)


def last_term_lost(x: Tensor, offsets: Tensor, weight: Tensor) -> Tensor:
    """The last k is left out."""
    return _grouped(x[:, :-1], offsets, weight[:, :-1]).to(x.dtype)


def tail_lost(x: Tensor, offsets: Tensor, weight: Tensor) -> Tensor:
    """Terms behind the last whole block of 16 are left out, unless there are no others."""
    whole = x.shape[1] // 16 * 16 or x.shape[1]
    return _grouped(x[:, :whole], offsets, weight[:, :whole]).to(x.dtype)


def groups_of_eight_times_the_average(x: Tensor, offsets: Tensor, weight: Tensor) -> Tensor:
    """Rows of a group beyond eight times the average, and sixteen at least, stay zero."""
    y, room = _grouped(x, offsets, weight), max(16, 8 * -(-len(x) // len(weight)))
    number = _number(x, offsets).clamp(max=len(weight) - 1)
    is_kept = torch.arange(len(x)) - offsets[number] < room
    return torch.where(is_kept[:, None], y, 0).to(x.dtype)


tf32_once.dtypes = ("float32",)
bfloat16_weight.dtypes = ("float32", "float16")

HONEST = (tensor_core, tiles_of_rows, split_k, three_tf32)
MUTANTS = (
    tf32_once, bfloat16_weight, half_accumulators, first_matrix_for_all, groups_of_one_size, next_matrix,
    one_row_too_late, last_row_lost, partial_tile_lost, one_matrix_for_a_tile, last_group_lost, empty_groups_skipped,
    matrices_transposed, last_term_lost, tail_lost,
    groups_of_eight_times_the_average,
)  # fmt: skip
