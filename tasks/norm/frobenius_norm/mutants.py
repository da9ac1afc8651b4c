"""Variants of the division by the Frobenius norm: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import summed, tf32


def _total(x: torch.Tensor) -> torch.Tensor:
    return x.float().square().sum()


def _divided(x: torch.Tensor, norm: torch.Tensor) -> torch.Tensor:
    return (x.float() / norm).to(x.dtype)


def block_for_all(x: torch.Tensor) -> torch.Tensor:
    """One block: 1024 float32 accumulators, then a tree; a division for each element."""
    return _divided(x, summed(x.float().square().flatten(), lanes=1024).sqrt())


def block_for_a_row(x: torch.Tensor) -> torch.Tensor:
    """A float32 partial sum for each row, added by a second kernel; multiplied by the inverse root."""
    total = summed(summed(x.float().square(), lanes=64), lanes=64)
    return (x.float() * torch.rsqrt(total)).to(x.dtype)


def scaled_by_maximum(x: torch.Tensor) -> torch.Tensor:
    """The norm as BLAS takes it: divided by the largest magnitude before it is squared."""
    largest = x.float().abs().amax()
    return _divided(x, largest * (x.float() / largest).square().sum().sqrt())


def atomic_partial_sums(x: torch.Tensor) -> torch.Tensor:
    """Blocks of 4096 squares into float32 partial sums, added from the last to the first, as atomics may come."""
    parts = [part.sum() for part in x.float().square().flatten().split(4096)]
    total = torch.zeros(())
    for part in reversed(parts):
        total = total + part
    return _divided(x, total.sqrt())


def squared_norm(x: torch.Tensor) -> torch.Tensor:
    """Divided by the sum of squares: the root is left out."""
    return _divided(x, _total(x))


def root_mean_square(x: torch.Tensor) -> torch.Tensor:
    """The mean in place of the sum."""
    return _divided(x, x.float().square().mean().sqrt())


def sum_of_magnitudes(x: torch.Tensor) -> torch.Tensor:
    """The sum of magnitudes in place of the root of the sum of squares."""
    return _divided(x, x.float().abs().sum())


def largest_magnitude(x: torch.Tensor) -> torch.Tensor:
    """Divided by the largest magnitude."""
    return _divided(x, x.float().abs().amax())


def row_by_row(x: torch.Tensor) -> torch.Tensor:
    """Each row is divided by its own norm."""
    return _divided(x, x.float().square().sum(-1, keepdim=True).sqrt().clamp(min=1e-30))


def spectral_norm_of_the_rows(x: torch.Tensor) -> torch.Tensor:
    """The largest norm of a row."""
    return _divided(x, x.float().square().sum(-1).amax().sqrt())


def deviation(x: torch.Tensor) -> torch.Tensor:
    """The mean is removed from the norm, as in a standard deviation."""
    centred = x.float() - x.float().mean()
    return _divided(x, centred.square().sum().sqrt().clamp(min=1e-30))


def last_row_lost(x: torch.Tensor) -> torch.Tensor:
    """The last row does not enter the norm."""
    return _divided(x, (_total(x[:-1]) if len(x) > 1 else _total(x)).sqrt().clamp(min=1e-30))


def tail_lost(x: torch.Tensor) -> torch.Tensor:
    """Elements behind the last whole block of 16 do not enter the norm."""
    flat = x.flatten()
    return _divided(x, _total(flat[: len(flat) // 16 * 16]).sqrt().clamp(min=1e-30))


def first_block_alone(x: torch.Tensor) -> torch.Tensor:
    """Only the first 1024 elements enter the norm: partial sums of other blocks are overwritten."""
    return _divided(x, _total(x.flatten()[:1024]).sqrt().clamp(min=1e-30))


def eps_in_the_denominator(x: torch.Tensor) -> torch.Tensor:
    """float32: 1e-4 is added to the norm against a division by zero."""
    return x / (_total(x).sqrt() + 1e-4)


def half_accumulators(x: torch.Tensor) -> torch.Tensor:
    """The squares are summed in bfloat16, by eight lanes."""
    return _divided(x, summed(x.float().square().flatten(), torch.bfloat16, lanes=8).float().sqrt())


def accumulators_of_the_dtype(x: torch.Tensor) -> torch.Tensor:
    """Halves: the squares are summed in the input's own dtype, by four lanes."""
    return _divided(x, summed(x.float().square().flatten(), x.dtype, lanes=4).float().sqrt())


def tf32_inputs(x: torch.Tensor) -> torch.Tensor:
    """float32: the input passes through a TF32 unit on its way."""
    return tf32(x) / _total(x).sqrt()


def approximate_root(x: torch.Tensor) -> torch.Tensor:
    """float32: an inverse root of ten bits without a step of Newton's method, as of a vector unit."""
    return x * tf32(torch.rsqrt(_total(x)))


def signs_lost(x: torch.Tensor) -> torch.Tensor:
    """The magnitudes are divided."""
    return _divided(x.abs(), _total(x).sqrt())


def last_element_passed_on(x: torch.Tensor) -> torch.Tensor:
    """The last element is passed on as it is."""
    y = _divided(x, _total(x).sqrt())
    y[-1, -1] = x[-1, -1]
    return y


accumulators_of_the_dtype.dtypes = ("float16", "bfloat16")
eps_in_the_denominator.dtypes = tf32_inputs.dtypes = approximate_root.dtypes = ("float32",)

HONEST = (block_for_all, block_for_a_row, scaled_by_maximum, atomic_partial_sums)
MUTANTS = (
    squared_norm, root_mean_square, sum_of_magnitudes, largest_magnitude, row_by_row, spectral_norm_of_the_rows,
    deviation, last_row_lost, tail_lost, first_block_alone, eps_in_the_denominator, half_accumulators,
    accumulators_of_the_dtype, tf32_inputs, approximate_root, signs_lost, last_element_passed_on,
)  # fmt: skip
