"""Variants of the mean squared error: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import mean_of_some, summed, tf32


def _squares(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return (prediction.float() - target.float()).square().reshape(-1)


def block_for_all(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """One block: 256 float32 accumulators, then a tree."""
    return (summed(_squares(prediction, target), lanes=256) / prediction.numel()).to(prediction.dtype)


def row_by_row(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """A float32 mean of each row, then the mean of those."""
    rows = summed(_squares(prediction, target).view(prediction.shape), lanes=8) / prediction.shape[-1]
    return (summed(rows) / len(rows)).to(prediction.dtype)


def scaled_before(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Each block of 4096 squares is divided by the count before it is added to the rest."""
    parts = [part.sum() / prediction.numel() for part in _squares(prediction, target).split(4096)]
    return torch.stack(parts[::-1]).sum().to(prediction.dtype)


def sum_of_squares(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The sum."""
    return _squares(prediction, target).sum().to(prediction.dtype)


def of_one_less(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Divided by the count minus one, as an unbiased variance is."""
    return (_squares(prediction, target).sum() / max(1, prediction.numel() - 1)).to(prediction.dtype)


def mean_of_row_sums(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Divided by the rows only."""
    return (_squares(prediction, target).sum() / len(prediction)).to(prediction.dtype)


def halved(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """With the factor one half of the textbooks."""
    return (0.5 * _squares(prediction, target).mean()).to(prediction.dtype)


def magnitudes(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The mean of the magnitudes."""
    return _squares(prediction, target).sqrt().mean().to(prediction.dtype)


def huber(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Linear beyond a difference of three."""
    far = _squares(prediction, target).sqrt()
    return torch.where(far > 3, 6 * far - 9, far * far).mean().to(prediction.dtype)


def expanded(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """p^2 - 2 p t + t^2 without the middle term."""
    return (prediction.float().square() + target.float().square()).mean().to(prediction.dtype)


def last_row_lost(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The last row is left out."""
    return (_squares(prediction[:-1], target[:-1]).sum() / prediction.numel()).to(prediction.dtype)


def tail_lost(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Elements behind the last whole vector of eight are left out."""
    squares = _squares(prediction, target)
    return (squares[: len(squares) // 8 * 8].sum() / len(squares)).to(prediction.dtype)


def half_accumulators(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Partial sums are kept in bfloat16, by eight lanes."""
    total = summed(_squares(prediction, target), torch.bfloat16, lanes=8).float()
    return (total / prediction.numel()).to(prediction.dtype)


def accumulators_of_the_dtype(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Halves: partial sums are kept in the input's own dtype, by four lanes."""
    total = summed(_squares(prediction, target), prediction.dtype, lanes=4).float()
    return (total / prediction.numel()).to(prediction.dtype)


def tf32_squares(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """float32: differences pass through a TF32 unit."""
    return tf32(prediction - target).square().mean()


def target_of_the_next_row(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Rows of the target are one too far."""
    return _squares(prediction, target.roll(1, 0)).mean().to(prediction.dtype)


def mean_first(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The square of the mean difference."""
    return (prediction.float() - target.float()).mean().square().to(prediction.dtype)


def rows_that_look_certain(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The mean of every second row stands for all where these rows vary little."""
    return mean_of_some(_squares(prediction, target).view(prediction.shape).mean(-1), prediction.dtype)


accumulators_of_the_dtype.dtypes = ("float16", "bfloat16")
tf32_squares.dtypes = ("float32",)

HONEST = (block_for_all, row_by_row, scaled_before)
MUTANTS = (
    sum_of_squares,
    of_one_less,
    mean_of_row_sums,
    halved,
    magnitudes,
    huber,
    expanded,
    last_row_lost,
    tail_lost,
    half_accumulators,
    accumulators_of_the_dtype,
    tf32_squares,
    target_of_the_next_row,
    mean_first,
    rows_that_look_certain,
)
