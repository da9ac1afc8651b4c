"""Variants of the affine map's gradient: honest ones that must pass and wrong ones that must fail."""

import torch
from torch import Tensor

from robust_kbench.audit.emulated import multiplied, summed, summed_in_turn, tf32

Gradients = tuple[Tensor, Tensor, Tensor]


def _gradients(grad_y: Tensor, x: Tensor, weight: Tensor) -> Gradients:
    """In float32, as a library's kernels make them."""
    wide = grad_y.float()
    return wide @ weight.float(), wide.T @ x.float(), wide.sum(0)


def _stored(gradients: Gradients, dtype: torch.dtype) -> Gradients:
    grad_x, grad_weight, grad_bias = gradients
    return grad_x.to(dtype), grad_weight.to(dtype), grad_bias.to(dtype)


def library(grad_y: Tensor, x: Tensor, weight: Tensor) -> Gradients:
    """Two products and a sum in float32."""
    return _stored(_gradients(grad_y, x, weight), x.dtype)


def tensor_core(grad_y: Tensor, x: Tensor, weight: Tensor) -> Gradients:
    """Products with sixteen terms at a time, or more, into float32 accumulators, 32 lanes for each bias."""
    grad_x = multiplied(grad_y, weight, step=max(16, -(-len(weight) // 64)))
    grad_weight = multiplied(grad_y.T, x, step=max(16, -(-len(x) // 64)))
    return _stored((grad_x, grad_weight, summed(grad_y.T.float())), x.dtype)


def one_accumulator(grad_y: Tensor, x: Tensor, weight: Tensor) -> Gradients:
    """A thread for each bias, which adds one row after the other; products from the last terms to the first."""
    wide, step = grad_y.float(), max(4, -(-len(x) // 64))
    grad_x = multiplied(wide.flip(1), weight.flip(0), step=max(4, -(-len(weight) // 64)))
    grad_weight = multiplied(wide.T.flip(1), x.flip(0), step=step)
    return _stored((grad_x, grad_weight, summed_in_turn(wide.T)), x.dtype)


def split_batch(grad_y: Tensor, x: Tensor, weight: Tensor) -> Gradients:
    """Four blocks of rows, their sums added from the last one on, as atomics may come."""
    size = -(-len(x) // 4)
    parts = [_gradients(grad, rows, weight) for grad, rows in zip(grad_y.split(size), x.split(size), strict=True)]
    grad_weight, grad_bias = (sum(part[number] for part in reversed(parts)) for number in (1, 2))
    return _stored((torch.cat([part[0] for part in parts]), grad_weight, grad_bias), x.dtype)


def tf32_once(grad_y: Tensor, x: Tensor, weight: Tensor) -> Gradients:
    """float32: the factors of both products are rounded to TF32."""
    grad_x, grad_weight, _ = _gradients(tf32(grad_y), tf32(x), tf32(weight))
    return grad_x, grad_weight, grad_y.sum(0)


def gradient_in_bfloat16(grad_y: Tensor, x: Tensor, weight: Tensor) -> Gradients:
    """The upstream gradient is staged in bfloat16."""
    return _stored(_gradients(grad_y.bfloat16(), x, weight), x.dtype)


def half_accumulators(grad_y: Tensor, x: Tensor, weight: Tensor) -> Gradients:
    """The weights' gradient is summed in the next lower class, rounded after every few rows."""
    grad_x, _, grad_bias = _gradients(grad_y, x, weight)
    lower = torch.bfloat16 if x.dtype == torch.float32 else x.dtype
    return _stored((grad_x, multiplied(grad_y.T, x, lower, step=max(4, -(-len(x) // 64))), grad_bias), x.dtype)


def bias_of_the_dtype(grad_y: Tensor, x: Tensor, weight: Tensor) -> Gradients:
    """The bias's gradient is summed in the next lower class, by two lanes."""
    grad_x, grad_weight, _ = _gradients(grad_y, x, weight)
    lower = torch.bfloat16 if x.dtype == torch.float32 else x.dtype
    return _stored((grad_x, grad_weight, summed(grad_y.T.float(), lower, lanes=2)), x.dtype)


def last_row_lost(grad_y: Tensor, x: Tensor, weight: Tensor) -> Gradients:
    """The last row adds nothing to the weights' gradient."""
    grad_x, _, grad_bias = _gradients(grad_y, x, weight)
    return _stored((grad_x, grad_y[:-1].T.float() @ x[:-1].float(), grad_bias), x.dtype)


def bias_without_the_last_row(grad_y: Tensor, x: Tensor, weight: Tensor) -> Gradients:
    """The last row adds nothing to the bias's gradient."""
    grad_x, grad_weight, _ = _gradients(grad_y, x, weight)
    return _stored((grad_x, grad_weight, grad_y[:-1].float().sum(0)), x.dtype)


def tail_of_rows_lost(grad_y: Tensor, x: Tensor, weight: Tensor) -> Gradients:
    """Rows behind the last whole block of eight add nothing to the bias's gradient, unless there are no others."""
    grad_x, grad_weight, _ = _gradients(grad_y, x, weight)
    return _stored((grad_x, grad_weight, grad_y[: len(x) // 8 * 8 or len(x)].float().sum(0)), x.dtype)


def last_feature_lost(grad_y: Tensor, x: Tensor, weight: Tensor) -> Gradients:
    """The last output feature adds nothing to the input's gradient."""
    _, grad_weight, grad_bias = _gradients(grad_y, x, weight)
    return _stored((grad_y[:, :-1].float() @ weight[:-1].float(), grad_weight, grad_bias), x.dtype)


def weight_read_by_columns(grad_y: Tensor, x: Tensor, weight: Tensor) -> Gradients:
    """The memory of the weights is read as [in_features, out_features]."""
    _, grad_weight, grad_bias = _gradients(grad_y, x, weight)
    read = weight.reshape(weight.shape[1], weight.shape[0]).T
    return _stored((grad_y.float() @ read.float(), grad_weight, grad_bias), x.dtype)


def written_transposed(grad_y: Tensor, x: Tensor, weight: Tensor) -> Gradients:
    """The weights' gradient is written as [in_features, out_features]."""
    grad_x, grad_weight, grad_bias = _gradients(grad_y, x, weight)
    return _stored((grad_x, grad_weight.T.reshape(weight.shape), grad_bias), x.dtype)


def averaged(grad_y: Tensor, x: Tensor, weight: Tensor) -> Gradients:
    """The gradients of weights and bias are averaged over the batch."""
    grad_x, grad_weight, grad_bias = _gradients(grad_y, x, weight)
    return _stored((grad_x, grad_weight / len(x), grad_bias / len(x)), x.dtype)


def bias_of_the_neighbour(grad_y: Tensor, x: Tensor, weight: Tensor) -> Gradients:
    """The last bias's gradient repeats the one before it."""
    grad_x, grad_weight, grad_bias = _gradients(grad_y, x, weight)
    grad_bias[-1] = grad_bias[-2]
    return _stored((grad_x, grad_weight, grad_bias), x.dtype)


def bias_of_ones(grad_y: Tensor, x: Tensor, weight: Tensor) -> Gradients:
    """The bias's gradient is taken from the first column of the weights' one, as if x had a column of ones there."""
    grad_x, grad_weight, _ = _gradients(grad_y, x, weight)
    return _stored((grad_x, grad_weight, grad_weight[:, 0].clone()), x.dtype)


def opposite_sign(grad_y: Tensor, x: Tensor, weight: Tensor) -> Gradients:
    """The step of a descent: all gradients have the opposite sign."""
    grad_x, grad_weight, grad_bias = _gradients(-grad_y, x, weight)
    return _stored((grad_x, grad_weight, grad_bias), x.dtype)


tf32_once.dtypes = ("float32",)
gradient_in_bfloat16.dtypes = ("float32", "float16")

HONEST = (library, tensor_core, one_accumulator, split_batch)
MUTANTS = (
    tf32_once, gradient_in_bfloat16, half_accumulators, bias_of_the_dtype, last_row_lost, bias_without_the_last_row,
    tail_of_rows_lost, last_feature_lost, weight_read_by_columns, written_transposed, averaged, bias_of_the_neighbour,
    bias_of_ones, opposite_sign,
)  # fmt: skip
