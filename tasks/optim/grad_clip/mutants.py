"""Variants of clipping by the global norm: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import summed, tf32

EPSILON = 1e-6
Clipped = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


def _flat(weight_grad: torch.Tensor, bias_grad: torch.Tensor) -> torch.Tensor:
    """All elements in float32."""
    return torch.cat((weight_grad.float().flatten(), bias_grad.float()))


def _norm(*gradients: torch.Tensor) -> torch.Tensor:
    return torch.stack([gradient.float().square().sum() for gradient in gradients]).sum().sqrt()


def _factor(norm: torch.Tensor, max_norm: float) -> torch.Tensor:
    return (max_norm / (norm + EPSILON)).clamp(max=1.0)


def _scaled(weight_grad: torch.Tensor, bias_grad: torch.Tensor, factor: torch.Tensor, norm: torch.Tensor) -> Clipped:
    clipped = [(gradient.float() * factor).to(gradient.dtype) for gradient in (weight_grad, bias_grad)]
    return clipped[0], clipped[1], norm.to(weight_grad.dtype)


def block_for_all(weight_grad: torch.Tensor, bias_grad: torch.Tensor, max_norm: float) -> Clipped:
    """One block: 1024 float32 accumulators over both tensors, then a tree."""
    norm = summed(_flat(weight_grad, bias_grad).square(), lanes=1024).sqrt()
    return _scaled(weight_grad, bias_grad, _factor(norm, max_norm), norm)


def norm_of_norms(weight_grad: torch.Tensor, bias_grad: torch.Tensor, max_norm: float) -> Clipped:
    """The norm of each tensor by itself, then the norm of the two; elements are divided, not multiplied."""
    norms = [summed(gradient.float().flatten().square(), lanes=256).sqrt() for gradient in (weight_grad, bias_grad)]
    norm = torch.hypot(*norms)
    divisor = ((norm + EPSILON) / max_norm).clamp(min=1.0)
    return _scaled(weight_grad, bias_grad, 1 / divisor, norm)


def atomic_partial_sums(weight_grad: torch.Tensor, bias_grad: torch.Tensor, max_norm: float) -> Clipped:
    """Chunks of 4096 elements into float32 partial sums, added from the last to the first, as atomics may come."""
    parts = [part.sum() for part in _flat(weight_grad, bias_grad).square().split(4096)]
    total = torch.zeros(())
    for part in reversed(parts):
        total = total + part
    norm = total.sqrt()
    if bool(norm + EPSILON <= max_norm):  # a kernel that leaves gradients alone below the bound
        return weight_grad, bias_grad, norm.to(weight_grad.dtype)
    return _scaled(weight_grad, bias_grad, _factor(norm, max_norm), norm)


def scaled_by_maximum(weight_grad: torch.Tensor, bias_grad: torch.Tensor, max_norm: float) -> Clipped:
    """The norm as BLAS takes it: divided by the largest magnitude of all before it is squared."""
    values = _flat(weight_grad, bias_grad)
    largest = values.abs().amax().clamp(min=1e-30)
    norm = largest * (values / largest).square().sum().sqrt()
    return _scaled(weight_grad, bias_grad, _factor(norm, max_norm), norm)


def always_scaled(weight_grad: torch.Tensor, bias_grad: torch.Tensor, max_norm: float) -> Clipped:
    """Small gradients are scaled up to the bound."""
    norm = _norm(weight_grad, bias_grad)
    return _scaled(weight_grad, bias_grad, max_norm / (norm + EPSILON), norm)


def never_scaled(weight_grad: torch.Tensor, bias_grad: torch.Tensor, max_norm: float) -> Clipped:
    """The norm is measured and nothing is clipped."""
    return weight_grad, bias_grad, _norm(weight_grad, bias_grad).to(weight_grad.dtype)


def norms_of_their_own(weight_grad: torch.Tensor, bias_grad: torch.Tensor, max_norm: float) -> Clipped:
    """Each gradient is clipped by its own norm."""
    clipped = [
        (gradient.float() * _factor(_norm(gradient), max_norm)).to(gradient.dtype)
        for gradient in (weight_grad, bias_grad)
    ]
    return clipped[0], clipped[1], _norm(weight_grad, bias_grad).to(weight_grad.dtype)


def norm_of_the_first(weight_grad: torch.Tensor, bias_grad: torch.Tensor, max_norm: float) -> Clipped:
    """The second gradient does not enter the norm."""
    norm = _norm(weight_grad)
    return _scaled(weight_grad, bias_grad, _factor(norm, max_norm), norm)


def second_not_scaled(weight_grad: torch.Tensor, bias_grad: torch.Tensor, max_norm: float) -> Clipped:
    """The second gradient is not clipped."""
    norm = _norm(weight_grad, bias_grad)
    clipped, _, norm = _scaled(weight_grad, bias_grad, _factor(norm, max_norm), norm)
    return clipped, bias_grad, norm


def by_value(weight_grad: torch.Tensor, bias_grad: torch.Tensor, max_norm: float) -> Clipped:
    """Elements are kept between minus and plus the bound."""
    norm = _norm(weight_grad, bias_grad)
    return weight_grad.clamp(-max_norm, max_norm), bias_grad.clamp(-max_norm, max_norm), norm.to(weight_grad.dtype)


def squared_norm(weight_grad: torch.Tensor, bias_grad: torch.Tensor, max_norm: float) -> Clipped:
    """The factor is of the square of the norm."""
    norm = _norm(weight_grad, bias_grad)
    return _scaled(weight_grad, bias_grad, _factor(norm.square(), max_norm), norm)


def root_mean_square(weight_grad: torch.Tensor, bias_grad: torch.Tensor, max_norm: float) -> Clipped:
    """The factor is of the root mean square."""
    norm = _norm(weight_grad, bias_grad)
    mean = norm / (weight_grad.numel() + bias_grad.numel()) ** 0.5
    return _scaled(weight_grad, bias_grad, _factor(mean, max_norm), norm)


def norm_after_clipping(weight_grad: torch.Tensor, bias_grad: torch.Tensor, max_norm: float) -> Clipped:
    """The norm of the clipped gradients is returned."""
    norm = _norm(weight_grad, bias_grad)
    factor = _factor(norm, max_norm)
    return _scaled(weight_grad, bias_grad, factor, norm * factor)


def clipped_twice(weight_grad: torch.Tensor, bias_grad: torch.Tensor, max_norm: float) -> Clipped:
    """The factor is applied twice, as by two kernels in place."""
    norm = _norm(weight_grad, bias_grad)
    return _scaled(weight_grad, bias_grad, _factor(norm, max_norm).square(), norm)


def large_eps(weight_grad: torch.Tensor, bias_grad: torch.Tensor, max_norm: float) -> Clipped:
    """float32: 1e-4 is added to the norm instead of 1e-6."""
    norm = _norm(weight_grad, bias_grad)
    return _scaled(weight_grad, bias_grad, (max_norm / (norm + 1e-4)).clamp(max=1.0), norm)


def last_row_lost(weight_grad: torch.Tensor, bias_grad: torch.Tensor, max_norm: float) -> Clipped:
    """The last row of the first gradient does not enter the norm."""
    norm = _norm(weight_grad[:-1], bias_grad)
    return _scaled(weight_grad, bias_grad, _factor(norm, max_norm), norm)


def tail_not_scaled(weight_grad: torch.Tensor, bias_grad: torch.Tensor, max_norm: float) -> Clipped:
    """Columns behind the last whole vector of four are not clipped."""
    norm = _norm(weight_grad, bias_grad)
    clipped, second, norm = _scaled(weight_grad, bias_grad, _factor(norm, max_norm), norm)
    whole = weight_grad.shape[1] // 4 * 4
    clipped[:, whole:] = weight_grad[:, whole:]
    return clipped, second, norm


def half_accumulators(weight_grad: torch.Tensor, bias_grad: torch.Tensor, max_norm: float) -> Clipped:
    """The squares are summed in bfloat16, by eight lanes."""
    norm = summed(_flat(weight_grad, bias_grad).square(), torch.bfloat16, lanes=8).float().sqrt()
    return _scaled(weight_grad, bias_grad, _factor(norm, max_norm), norm)


def accumulators_of_the_dtype(weight_grad: torch.Tensor, bias_grad: torch.Tensor, max_norm: float) -> Clipped:
    """Halves: the squares are summed in the inputs' own dtype, by four lanes."""
    norm = summed(_flat(weight_grad, bias_grad).square(), weight_grad.dtype, lanes=4).float().sqrt()
    return _scaled(weight_grad, bias_grad, _factor(norm, max_norm), norm)


def tf32_elements(weight_grad: torch.Tensor, bias_grad: torch.Tensor, max_norm: float) -> Clipped:
    """float32: the elements pass through a TF32 unit on their way to the result."""
    norm = _norm(weight_grad, bias_grad)
    return _scaled(tf32(weight_grad), tf32(bias_grad), _factor(norm, max_norm), norm)


def coarse_factor(weight_grad: torch.Tensor, bias_grad: torch.Tensor, max_norm: float) -> Clipped:
    """The factor is kept in bfloat16."""
    norm = _norm(weight_grad, bias_grad)
    return _scaled(weight_grad, bias_grad, _factor(norm, max_norm).bfloat16().float(), norm)


accumulators_of_the_dtype.dtypes = ("float16", "bfloat16")
coarse_factor.dtypes = ("float32", "float16")
large_eps.dtypes = tf32_elements.dtypes = ("float32",)

HONEST = (block_for_all, norm_of_norms, atomic_partial_sums, scaled_by_maximum)
MUTANTS = (
    always_scaled, never_scaled, norms_of_their_own, norm_of_the_first, second_not_scaled, by_value, squared_norm,
    root_mean_square, norm_after_clipping, clipped_twice, large_eps, last_row_lost, tail_not_scaled, half_accumulators,
    accumulators_of_the_dtype, tf32_elements, coarse_factor,
)  # fmt: skip
