"""Variants of the global norm of gradients: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import summed, tf32


def _flat(weight_grad: torch.Tensor, bias_grad: torch.Tensor) -> torch.Tensor:
    """All elements in float32."""
    return torch.cat((weight_grad.float().flatten(), bias_grad.float()))


def _squares(gradient: torch.Tensor) -> torch.Tensor:
    return gradient.float().square().sum()


def block_for_all(weight_grad: torch.Tensor, bias_grad: torch.Tensor) -> torch.Tensor:
    """One block: 1024 float32 accumulators over both tensors, then a tree."""
    return summed(_flat(weight_grad, bias_grad).square(), lanes=1024).sqrt().to(weight_grad.dtype)


def norm_of_norms(weight_grad: torch.Tensor, bias_grad: torch.Tensor) -> torch.Tensor:
    """The norm of each tensor by itself, then the norm of the two."""
    norms = [summed(gradient.float().flatten().square(), lanes=256).sqrt() for gradient in (weight_grad, bias_grad)]
    return torch.hypot(*norms).to(weight_grad.dtype)


def atomic_partial_sums(weight_grad: torch.Tensor, bias_grad: torch.Tensor) -> torch.Tensor:
    """Chunks of 4096 elements into float32 partial sums, added from the last to the first, as atomics may come."""
    parts = [part.sum() for part in _flat(weight_grad, bias_grad).square().split(4096)]
    total = torch.zeros(())
    for part in reversed(parts):
        total = total + part
    return total.sqrt().to(weight_grad.dtype)


def scaled_by_maximum(weight_grad: torch.Tensor, bias_grad: torch.Tensor) -> torch.Tensor:
    """The norm as BLAS takes it: divided by the largest magnitude of all before it is squared."""
    values = _flat(weight_grad, bias_grad)
    largest = values.abs().amax().clamp(min=1e-30)
    return (largest * (values / largest).square().sum().sqrt()).to(weight_grad.dtype)


def sum_of_norms(weight_grad: torch.Tensor, bias_grad: torch.Tensor) -> torch.Tensor:
    """The norms are added."""
    return (_squares(weight_grad).sqrt() + _squares(bias_grad).sqrt()).to(weight_grad.dtype)


def larger_norm(weight_grad: torch.Tensor, bias_grad: torch.Tensor) -> torch.Tensor:
    """The larger one of the two norms."""
    return torch.maximum(_squares(weight_grad), _squares(bias_grad)).sqrt().to(weight_grad.dtype)


def first_tensor_alone(weight_grad: torch.Tensor, bias_grad: torch.Tensor) -> torch.Tensor:
    """The second tensor's partial sum is overwritten."""
    return _squares(weight_grad).sqrt().to(weight_grad.dtype)


def second_tensor_alone(weight_grad: torch.Tensor, bias_grad: torch.Tensor) -> torch.Tensor:
    """The first tensor's partial sum is overwritten."""
    return _squares(bias_grad).sqrt().to(weight_grad.dtype)


def no_root(weight_grad: torch.Tensor, bias_grad: torch.Tensor) -> torch.Tensor:
    """The sum of squares."""
    return _flat(weight_grad, bias_grad).square().sum().to(weight_grad.dtype)


def root_mean_square(weight_grad: torch.Tensor, bias_grad: torch.Tensor) -> torch.Tensor:
    """The root of the mean square."""
    return _flat(weight_grad, bias_grad).square().mean().sqrt().to(weight_grad.dtype)


def mean_of_the_norms(weight_grad: torch.Tensor, bias_grad: torch.Tensor) -> torch.Tensor:
    """The root of the mean of the two sums of squares."""
    return ((_squares(weight_grad) + _squares(bias_grad)) / 2).sqrt().to(weight_grad.dtype)


def sum_of_magnitudes(weight_grad: torch.Tensor, bias_grad: torch.Tensor) -> torch.Tensor:
    """The sum of the magnitudes."""
    return _flat(weight_grad, bias_grad).abs().sum().to(weight_grad.dtype)


def last_row_lost(weight_grad: torch.Tensor, bias_grad: torch.Tensor) -> torch.Tensor:
    """The last row of the first tensor is left out."""
    return (_squares(weight_grad[:-1]) + _squares(bias_grad)).sqrt().to(weight_grad.dtype)


def tail_lost(weight_grad: torch.Tensor, bias_grad: torch.Tensor) -> torch.Tensor:
    """Elements behind the last whole vector of four of the second tensor are left out."""
    kept = bias_grad[: len(bias_grad) // 4 * 4]
    return (_squares(weight_grad) + _squares(kept)).sqrt().to(weight_grad.dtype)


def first_block_alone(weight_grad: torch.Tensor, bias_grad: torch.Tensor) -> torch.Tensor:
    """Only the first 1024 elements of each tensor are added."""
    first = _squares(weight_grad.flatten()[:1024])
    return (first + _squares(bias_grad[:1024])).sqrt().to(weight_grad.dtype)


def eps_in_the_root(weight_grad: torch.Tensor, bias_grad: torch.Tensor) -> torch.Tensor:
    """1e-2 is added under the root."""
    return (_squares(weight_grad) + _squares(bias_grad) + 1e-2).sqrt().to(weight_grad.dtype)


def half_accumulators(weight_grad: torch.Tensor, bias_grad: torch.Tensor) -> torch.Tensor:
    """The squares are summed in bfloat16, by eight lanes."""
    squares = _flat(weight_grad, bias_grad).square()
    return summed(squares, torch.bfloat16, lanes=8).float().sqrt().to(weight_grad.dtype)


def accumulators_of_the_dtype(weight_grad: torch.Tensor, bias_grad: torch.Tensor) -> torch.Tensor:
    """Halves: the squares are summed in the inputs' own dtype, by four lanes."""
    squares = _flat(weight_grad, bias_grad).square()
    return summed(squares, weight_grad.dtype, lanes=4).float().sqrt().to(weight_grad.dtype)


def tf32_inputs(weight_grad: torch.Tensor, bias_grad: torch.Tensor) -> torch.Tensor:
    """float32: the elements pass through a TF32 unit, as when their squares are a product of vectors."""
    return tf32(_flat(weight_grad, bias_grad)).square().sum().sqrt()


def approximate_root(weight_grad: torch.Tensor, bias_grad: torch.Tensor) -> torch.Tensor:
    """float32: a root of ten bits."""
    return tf32(_flat(weight_grad, bias_grad).square().sum().sqrt())


accumulators_of_the_dtype.dtypes = ("float16", "bfloat16")
tf32_inputs.dtypes = approximate_root.dtypes = ("float32",)

HONEST = (block_for_all, norm_of_norms, atomic_partial_sums, scaled_by_maximum)
MUTANTS = (
    sum_of_norms, larger_norm, first_tensor_alone, second_tensor_alone, no_root, root_mean_square, mean_of_the_norms,
    sum_of_magnitudes, last_row_lost, tail_lost, first_block_alone, eps_in_the_root, half_accumulators,
    accumulators_of_the_dtype, tf32_inputs, approximate_root,
)  # fmt: skip
_AVERAGED = "of hundreds of elements the roundings average out in the one sum, and are halved by its root"
EXEMPT = {
    "lower_inputs": {"float16": _AVERAGED},
    "lower_weight_grad": {"float16": _AVERAGED},
    "lower_bias_grad": {"float16": _AVERAGED, "bfloat16": _AVERAGED},
}
