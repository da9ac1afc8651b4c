"""Variants of the hinge loss: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import mean_of_some, summed, tf32


def _margins(prediction: torch.Tensor, positive: torch.Tensor) -> torch.Tensor:
    """In float32, in one row."""
    return (prediction.float() * (2 * positive.float() - 1)).reshape(-1)


def _losses(prediction: torch.Tensor, positive: torch.Tensor) -> torch.Tensor:
    return (1 - _margins(prediction, positive)).clamp(min=0)


def block_for_all(prediction: torch.Tensor, positive: torch.Tensor) -> torch.Tensor:
    """One block: 1024 float32 accumulators, then a tree."""
    return (summed(_losses(prediction, positive), lanes=1024) / prediction.numel()).to(prediction.dtype)


def row_by_row(prediction: torch.Tensor, positive: torch.Tensor) -> torch.Tensor:
    """A float32 mean of each row, then the mean of those."""
    rows = summed(_losses(prediction, positive).view(prediction.shape), lanes=32) / prediction.shape[-1]
    return (summed(rows) / len(rows)).to(prediction.dtype)


def each_class_alone(prediction: torch.Tensor, positive: torch.Tensor) -> torch.Tensor:
    """One sum for each class: 1 - x where it is positive, 1 + x elsewhere."""
    x, chosen = prediction.float().reshape(-1), positive.reshape(-1) > 0
    one, other = (1 - x[chosen]).clamp(min=0), (1 + x[~chosen]).clamp(min=0)
    return ((one.sum() + other.sum()) / prediction.numel()).to(prediction.dtype)


def sign_by_its_bit(prediction: torch.Tensor, positive: torch.Tensor) -> torch.Tensor:
    """The sign bit is flipped by the class; blocks of 4096 are added from the last to the first."""
    bits = prediction.float().contiguous().view(torch.int32) ^ ((positive.int() - 1) & -(2**31)).int()
    parts = (1 - bits.view(torch.float32)).clamp(min=0).reshape(-1).split(4096)
    return (torch.stack([part.sum() for part in reversed(parts)]).sum() / prediction.numel()).to(prediction.dtype)


def class_as_a_number(prediction: torch.Tensor, positive: torch.Tensor) -> torch.Tensor:
    """Classes of 0 and 1 are taken for -1 and 1."""
    margin = prediction.float() * positive.float()
    return (1 - margin).clamp(min=0).mean().to(prediction.dtype)


def other_class(prediction: torch.Tensor, positive: torch.Tensor) -> torch.Tensor:
    """The classes are exchanged."""
    return _losses(-prediction, positive).mean().to(prediction.dtype)


def not_clipped(prediction: torch.Tensor, positive: torch.Tensor) -> torch.Tensor:
    """Gains count against losses."""
    return (1 - _margins(prediction, positive)).mean().to(prediction.dtype)


def no_margin(prediction: torch.Tensor, positive: torch.Tensor) -> torch.Tensor:
    """The perceptron's loss: a margin of zero."""
    return (-_margins(prediction, positive)).clamp(min=0).mean().to(prediction.dtype)


def magnitude(prediction: torch.Tensor, positive: torch.Tensor) -> torch.Tensor:
    """The magnitude instead of the positive part."""
    return (1 - _margins(prediction, positive)).abs().mean().to(prediction.dtype)


def squared(prediction: torch.Tensor, positive: torch.Tensor) -> torch.Tensor:
    """The squared hinge."""
    return _losses(prediction, positive).square().mean().to(prediction.dtype)


def logistic(prediction: torch.Tensor, positive: torch.Tensor) -> torch.Tensor:
    """The logistic loss."""
    return torch.nn.functional.softplus(-_margins(prediction, positive)).mean().to(prediction.dtype)


def clipped_above(prediction: torch.Tensor, positive: torch.Tensor) -> torch.Tensor:
    """The ramp loss: no element loses more than two."""
    return _losses(prediction, positive).clamp(max=2).mean().to(prediction.dtype)


def mean_of_the_active(prediction: torch.Tensor, positive: torch.Tensor) -> torch.Tensor:
    """The mean over those elements that lose anything."""
    losses = _losses(prediction, positive)
    return (losses.sum() / (losses > 0).sum().clamp(min=1)).to(prediction.dtype)


def sum_of_losses(prediction: torch.Tensor, positive: torch.Tensor) -> torch.Tensor:
    """The sum."""
    return _losses(prediction, positive).sum().to(prediction.dtype)


def of_one_less(prediction: torch.Tensor, positive: torch.Tensor) -> torch.Tensor:
    """Divided by the count minus one."""
    return (_losses(prediction, positive).sum() / max(1, prediction.numel() - 1)).to(prediction.dtype)


def last_row_lost(prediction: torch.Tensor, positive: torch.Tensor) -> torch.Tensor:
    """The last row is left out."""
    return (_losses(prediction[:-1], positive[:-1]).sum() / prediction.numel()).to(prediction.dtype)


def tail_lost(prediction: torch.Tensor, positive: torch.Tensor) -> torch.Tensor:
    """Elements behind the last whole vector of eight are left out."""
    losses = _losses(prediction, positive)
    return (losses[: len(losses) // 8 * 8].sum() / len(losses)).to(prediction.dtype)


def padded(prediction: torch.Tensor, positive: torch.Tensor) -> torch.Tensor:
    """The row is padded with zeros to a multiple of four, each of which loses one."""
    surplus = -prediction.shape[-1] % 4 * len(prediction)
    return ((_losses(prediction, positive).sum() + surplus) / prediction.numel()).to(prediction.dtype)


def half_accumulators(prediction: torch.Tensor, positive: torch.Tensor) -> torch.Tensor:
    """Partial sums are kept in bfloat16, by eight lanes."""
    total = summed(_losses(prediction, positive), torch.bfloat16, lanes=8).float()
    return (total / prediction.numel()).to(prediction.dtype)


def accumulators_of_the_dtype(prediction: torch.Tensor, positive: torch.Tensor) -> torch.Tensor:
    """Halves: partial sums are kept in the input's own dtype, by four lanes."""
    total = summed(_losses(prediction, positive), prediction.dtype, lanes=4).float()
    return (total / prediction.numel()).to(prediction.dtype)


def tf32_predictions(prediction: torch.Tensor, positive: torch.Tensor) -> torch.Tensor:
    """float32: the predictions pass through a TF32 unit."""
    return _losses(tf32(prediction), positive).mean()


def class_of_the_next(prediction: torch.Tensor, positive: torch.Tensor) -> torch.Tensor:
    """Classes are read one column too far."""
    return _losses(prediction, positive.roll(-1, -1)).mean().to(prediction.dtype)


def one_class_alone(prediction: torch.Tensor, positive: torch.Tensor) -> torch.Tensor:
    """The mean of the two classes' sums over their counts, of which one may be nothing at all."""
    losses, chosen = _losses(prediction, positive), positive.reshape(-1) > 0
    count = len(losses)
    if bool(chosen.all()) or not bool(chosen.any()):
        return (losses.sum() / (2 * count)).to(prediction.dtype)
    return losses.mean().to(prediction.dtype)


def rows_that_look_certain(prediction: torch.Tensor, positive: torch.Tensor) -> torch.Tensor:
    """The mean of every second row stands for all where these rows vary little."""
    return mean_of_some(_losses(prediction, positive).view(prediction.shape).mean(-1), prediction.dtype)


accumulators_of_the_dtype.dtypes = ("float16", "bfloat16")
tf32_predictions.dtypes = ("float32",)

HONEST = (block_for_all, row_by_row, each_class_alone, sign_by_its_bit)
MUTANTS = (
    class_as_a_number, other_class, not_clipped, no_margin, magnitude, squared, logistic, clipped_above,
    mean_of_the_active, sum_of_losses, of_one_less, last_row_lost, tail_lost, padded, half_accumulators,
    accumulators_of_the_dtype, tf32_predictions, class_of_the_next,
    one_class_alone,
    rows_that_look_certain,
)  # fmt: skip
