"""Variants of the rectified affine map's gradient: honest ones that must pass and wrong ones that must fail."""

import torch
from torch import Tensor

from robust_kbench.audit.emulated import multiplied, summed, tf32

Gradients = tuple[Tensor, Tensor, Tensor]


def _passed(grad_y: Tensor, y: Tensor) -> Tensor:
    return torch.where(y > 0, grad_y.float(), 0.0)


def _gradients(passed: Tensor, x: Tensor, weight: Tensor) -> Gradients:
    """In float32, as a library's kernels make them from the gradient that passes."""
    return passed @ weight.float(), passed.T @ x.float(), passed.sum(0)


def _stored(gradients: Gradients, dtype: torch.dtype) -> Gradients:
    grad_x, grad_weight, grad_bias = gradients
    return grad_x.to(dtype), grad_weight.to(dtype), grad_bias.to(dtype)


def library(grad_y: Tensor, x: Tensor, weight: Tensor, y: Tensor) -> Gradients:
    """Two products and a sum in float32."""
    return _stored(_gradients(_passed(grad_y, y), x, weight), x.dtype)


def tensor_core(grad_y: Tensor, x: Tensor, weight: Tensor, y: Tensor) -> Gradients:
    """Products with sixteen terms at a time into float32 accumulators, 32 lanes for each bias."""
    passed = _passed(grad_y, y)
    grad_weight = multiplied(passed.T, x, step=max(16, -(-len(x) // 64)))
    return _stored((multiplied(passed, weight), grad_weight, summed(passed.T)), x.dtype)


def split_batch(grad_y: Tensor, x: Tensor, weight: Tensor, y: Tensor) -> Gradients:
    """Four blocks of rows, their sums added from the last one on, as atomics may come; the mask is a factor."""
    size = -(-len(x) // 4)
    parts = [
        _gradients(grad.float() * (result > 0), rows, weight)
        for grad, rows, result in zip(grad_y.split(size), x.split(size), y.split(size), strict=True)
    ]
    grad_weight, grad_bias = (sum(part[number] for part in reversed(parts)) for number in (1, 2))
    return _stored((torch.cat([part[0] for part in parts]), grad_weight, grad_bias), x.dtype)


def in_double(grad_y: Tensor, x: Tensor, weight: Tensor, y: Tensor) -> Gradients:
    """float64 accumulators, rounded once."""
    passed = _passed(grad_y, y).double()
    return _stored((passed @ weight.double(), passed.T @ x.double(), passed.sum(0)), x.dtype)


def tf32_once(grad_y: Tensor, x: Tensor, weight: Tensor, y: Tensor) -> Gradients:
    """float32: the factors are rounded to TF32."""
    return _gradients(_passed(tf32(grad_y), y), tf32(x), tf32(weight))


def half_accumulators(grad_y: Tensor, x: Tensor, weight: Tensor, y: Tensor) -> Gradients:
    """The weights' gradients are summed in the next lower class, rounded after every few rows."""
    passed = _passed(grad_y, y)
    grad_x, _, grad_bias = _gradients(passed, x, weight)
    lower = torch.bfloat16 if x.dtype == torch.float32 else x.dtype
    grad_weight = multiplied(passed.T, x, lower, step=max(4, -(-len(x) // 64)))
    return _stored((grad_x, grad_weight, grad_bias), x.dtype)


def bias_of_the_dtype(grad_y: Tensor, x: Tensor, weight: Tensor, y: Tensor) -> Gradients:
    """The bias's gradient is summed in the next lower class, by two lanes."""
    passed = _passed(grad_y, y)
    grad_x, grad_weight, _ = _gradients(passed, x, weight)
    lower = torch.bfloat16 if x.dtype == torch.float32 else x.dtype
    return _stored((grad_x, grad_weight, summed(passed.T, lower, lanes=2)), x.dtype)


def not_masked(grad_y: Tensor, x: Tensor, weight: Tensor, y: Tensor) -> Gradients:
    """The rectifier is left out."""
    return _stored(_gradients(grad_y.float(), x, weight), x.dtype)


def mask_inverted(grad_y: Tensor, x: Tensor, weight: Tensor, y: Tensor) -> Gradients:
    """The gradient passes where the result is negative."""
    return _stored(_gradients(_passed(grad_y, -y), x, weight), x.dtype)


def passes_at_zero(grad_y: Tensor, x: Tensor, weight: Tensor, y: Tensor) -> Gradients:
    """The gradient passes where the result is zero, too."""
    return _stored(_gradients(torch.where(y < 0, 0.0, grad_y.float()), x, weight), x.dtype)


def leaks(grad_y: Tensor, x: Tensor, weight: Tensor, y: Tensor) -> Gradients:
    """A leaky rectifier with slope 0.01."""
    wide = grad_y.float()
    return _stored(_gradients(torch.where(y > 0, wide, 0.01 * wide), x, weight), x.dtype)


def times_the_result(grad_y: Tensor, x: Tensor, weight: Tensor, y: Tensor) -> Gradients:
    """The gradient is multiplied by the rectified result instead of by its sign."""
    return _stored(_gradients(grad_y.float() * y.float().clamp(min=0), x, weight), x.dtype)


def input_not_masked(grad_y: Tensor, x: Tensor, weight: Tensor, y: Tensor) -> Gradients:
    """The input's gradient misses the mask."""
    _, grad_weight, grad_bias = _gradients(_passed(grad_y, y), x, weight)
    return _stored((grad_y.float() @ weight.float(), grad_weight, grad_bias), x.dtype)


def bias_not_masked(grad_y: Tensor, x: Tensor, weight: Tensor, y: Tensor) -> Gradients:
    """The bias's gradient misses the mask."""
    grad_x, grad_weight, _ = _gradients(_passed(grad_y, y), x, weight)
    return _stored((grad_x, grad_weight, grad_y.float().sum(0)), x.dtype)


def last_row_lost(grad_y: Tensor, x: Tensor, weight: Tensor, y: Tensor) -> Gradients:
    """The last row adds nothing to the weights' gradient."""
    passed = _passed(grad_y, y)
    grad_x, _, grad_bias = _gradients(passed, x, weight)
    return _stored((grad_x, passed[:-1].T @ x[:-1].float(), grad_bias), x.dtype)


def tail_of_rows_lost(grad_y: Tensor, x: Tensor, weight: Tensor, y: Tensor) -> Gradients:
    """Rows behind the last whole block of eight add nothing to the bias's gradient."""
    passed = _passed(grad_y, y)
    grad_x, grad_weight, _ = _gradients(passed, x, weight)
    return _stored((grad_x, grad_weight, passed[: len(x) // 8 * 8 or len(x)].sum(0)), x.dtype)


def last_feature_lost(grad_y: Tensor, x: Tensor, weight: Tensor, y: Tensor) -> Gradients:
    """The last output feature adds nothing to the input's gradient."""
    passed = _passed(grad_y, y)
    _, grad_weight, grad_bias = _gradients(passed, x, weight)
    return _stored((passed[:, :-1] @ weight[:-1].float(), grad_weight, grad_bias), x.dtype)


def averaged(grad_y: Tensor, x: Tensor, weight: Tensor, y: Tensor) -> Gradients:
    """The gradients of weights and bias are averaged over the batch."""
    grad_x, grad_weight, grad_bias = _gradients(_passed(grad_y, y), x, weight)
    return _stored((grad_x, grad_weight / len(x), grad_bias / len(x)), x.dtype)


def written_transposed(grad_y: Tensor, x: Tensor, weight: Tensor, y: Tensor) -> Gradients:
    """The weights' gradient is written as [in_features, out_features]."""
    grad_x, grad_weight, grad_bias = _gradients(_passed(grad_y, y), x, weight)
    return _stored((grad_x, grad_weight.T.reshape(weight.shape), grad_bias), x.dtype)


def last_mask_of_the_first(grad_y: Tensor, x: Tensor, weight: Tensor, y: Tensor) -> Gradients:
    """The last row is masked by the result of the first, or not at all where it is alone."""
    first = y[:1] if len(y) > 1 else torch.ones_like(y)
    return _stored(_gradients(_passed(grad_y, torch.cat((y[:-1], first))), x, weight), x.dtype)


tf32_once.dtypes = ("float32",)

HONEST = (library, tensor_core, split_batch, in_double)
MUTANTS = (
    tf32_once, half_accumulators, bias_of_the_dtype, not_masked, mask_inverted, passes_at_zero, leaks, times_the_result,
    input_not_masked, bias_not_masked, last_row_lost, tail_of_rows_lost, last_feature_lost, averaged,
    written_transposed, last_mask_of_the_first,
)  # fmt: skip
