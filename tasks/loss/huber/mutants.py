"""Variants of the Huber loss: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import mean_of_some, summed, tf32


def _distances(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return (prediction.float() - target.float()).abs().reshape(-1)


def _losses(prediction: torch.Tensor, target: torch.Tensor, delta: float = 1.0) -> torch.Tensor:
    """Of each element, in one row."""
    far = _distances(prediction, target)
    return torch.where(far <= delta, 0.5 * far * far, delta * (far - 0.5 * delta))


def block_for_all(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """One block: 1024 float32 accumulators, then a tree."""
    return (summed(_losses(prediction, target), lanes=1024) / prediction.numel()).to(prediction.dtype)


def row_by_row(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """A float32 mean of each row, then the mean of those."""
    rows = summed(_losses(prediction, target).view(prediction.shape), lanes=32) / prediction.shape[-1]
    return (summed(rows) / len(rows)).to(prediction.dtype)


def bounded_difference(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Without a branch: c * (d - c / 2) with c the difference kept between -1 and 1; partial sums of 4096."""
    difference = (prediction.float() - target.float()).reshape(-1)
    bounded = difference.clamp(-1, 1)
    parts = [part.sum() for part in (bounded * (difference - 0.5 * bounded)).split(4096)]
    return (torch.stack(parts[::-1]).sum() / prediction.numel()).to(prediction.dtype)


def divided_before(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Each block of 4096 losses is multiplied by the inverse of the count before it is added to the rest."""
    inverse = 1 / prediction.numel()
    return (
        torch.stack([part.sum() * inverse for part in _losses(prediction, target).split(4096)]).sum().to(target.dtype)
    )


def sum_of_losses(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The sum."""
    return _losses(prediction, target).sum().to(prediction.dtype)


def of_one_less(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Divided by the count minus one."""
    return (_losses(prediction, target).sum() / max(1, prediction.numel() - 1)).to(prediction.dtype)


def mean_of_row_sums(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Divided by the rows only."""
    return (_losses(prediction, target).sum() / len(prediction)).to(prediction.dtype)


def squares(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Half of the squared difference everywhere."""
    return (0.5 * _distances(prediction, target).square()).mean().to(prediction.dtype)


def magnitudes(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The magnitude of the difference everywhere."""
    return _distances(prediction, target).mean().to(prediction.dtype)


def not_halved(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The square without the factor of one half."""
    far = _distances(prediction, target)
    return torch.where(far <= 1, far * far, far - 0.5).mean().to(prediction.dtype)


def not_shifted(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The linear part does not meet the quadratic one: one half is not subtracted."""
    far = _distances(prediction, target)
    return torch.where(far <= 1, 0.5 * far * far, far).mean().to(prediction.dtype)


def other_delta(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Quadratic up to a difference of 1.345, the statistician's constant."""
    return _losses(prediction, target, 1.345).mean().to(prediction.dtype)


def smooth(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The pseudo-Huber loss, sqrt(1 + d^2) - 1."""
    return ((1 + _distances(prediction, target).square()).sqrt() - 1).mean().to(prediction.dtype)


def linear_for_positive_ones(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The magnitude is forgotten: negative differences count as near ones."""
    difference = (prediction.float() - target.float()).reshape(-1)
    return torch.where(difference <= 1, 0.5 * difference.square(), difference - 0.5).mean().to(prediction.dtype)


def last_row_lost(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The last row is left out."""
    return (_losses(prediction[:-1], target[:-1]).sum() / prediction.numel()).to(prediction.dtype)


def tail_lost(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Elements behind the last whole vector of eight are left out."""
    losses = _losses(prediction, target)
    return (losses[: len(losses) // 8 * 8].sum() / len(losses)).to(prediction.dtype)


def half_accumulators(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Partial sums are kept in bfloat16, by eight lanes."""
    total = summed(_losses(prediction, target), torch.bfloat16, lanes=8).float()
    return (total / prediction.numel()).to(prediction.dtype)


def accumulators_of_the_dtype(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Halves: partial sums are kept in the input's own dtype, by four lanes."""
    total = summed(_losses(prediction, target), prediction.dtype, lanes=4).float()
    return (total / prediction.numel()).to(prediction.dtype)


def tf32_differences(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """float32: both inputs pass through a TF32 unit."""
    return _losses(tf32(prediction), tf32(target)).mean()


def target_of_the_next_row(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Rows of the target are one too far."""
    return _losses(prediction, target.roll(1, 0)).mean().to(prediction.dtype)


def rows_that_look_certain(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The mean of every second row stands for all where these rows vary little."""
    return mean_of_some(_losses(prediction, target).view(prediction.shape).mean(-1), prediction.dtype)


accumulators_of_the_dtype.dtypes = ("float16", "bfloat16")
tf32_differences.dtypes = ("float32",)

HONEST = (block_for_all, row_by_row, bounded_difference, divided_before)
MUTANTS = (
    sum_of_losses, of_one_less, mean_of_row_sums, squares, magnitudes, not_halved, not_shifted, other_delta, smooth,
    linear_for_positive_ones, last_row_lost, tail_lost, half_accumulators, accumulators_of_the_dtype, tf32_differences,
    target_of_the_next_row,
    rows_that_look_certain,
)  # fmt: skip
