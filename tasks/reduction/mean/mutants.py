"""Variants of the mean: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import summed, tf32


def _last(x: torch.Tensor) -> torch.Tensor:
    """The axis of the mean as the last one, in float32."""
    return x.float().transpose(1, 2).contiguous()


def warp_for_a_mean(x: torch.Tensor) -> torch.Tensor:
    """32 float32 accumulators, then a tree, and one division."""
    return (summed(_last(x)) / x.shape[1]).to(x.dtype)


def multiplied_by_the_inverse(x: torch.Tensor) -> torch.Tensor:
    """Four accumulators; the sum is multiplied by 1 / length."""
    return (summed(_last(x), lanes=4) * (1 / x.shape[1])).to(x.dtype)


def divided_before(x: torch.Tensor) -> torch.Tensor:
    """Blocks of 256 terms, each divided before it is added to the others, from the last to the first."""
    total = x.new_zeros((x.shape[0], x.shape[2]), dtype=torch.float32)
    for part in reversed(x.float().split(256, 1)):
        total += part.sum(1) / x.shape[1]
    return total.to(x.dtype)


def means_of_tiles(x: torch.Tensor) -> torch.Tensor:
    """The mean of each tile of 64, joined with the weight of its size as a running mean is."""
    mean, count = x.new_zeros((x.shape[0], x.shape[2]), dtype=torch.float32), 0
    for part in x.float().split(64, 1):
        count += part.shape[1]
        mean = mean + (part.mean(1) - mean) * (part.shape[1] / count)
    return mean.to(x.dtype)


def tiles_of_equal_weight(x: torch.Tensor) -> torch.Tensor:
    """The mean of the means of tiles of 32, the last of which may be smaller."""
    means = [part.mean(1) for part in x.float().split(32, 1)]
    return torch.stack(means).mean(0).to(x.dtype)


def sum_alone(x: torch.Tensor) -> torch.Tensor:
    """The division is left out."""
    return x.float().sum(1).to(x.dtype)


def divided_by_one_less(x: torch.Tensor) -> torch.Tensor:
    """Divided by the length minus one."""
    return (x.float().sum(1) / max(1, x.shape[1] - 1)).to(x.dtype)


def divided_by_the_padded_length(x: torch.Tensor) -> torch.Tensor:
    """Divided by the length after padding to a multiple of eight."""
    return (x.float().sum(1) / (-(-x.shape[1] // 8) * 8)).to(x.dtype)


def divided_by_the_wrong_axis(x: torch.Tensor) -> torch.Tensor:
    """Divided by the size of the last axis."""
    return (x.float().sum(1) / x.shape[2]).to(x.dtype)


def last_term_lost(x: torch.Tensor) -> torch.Tensor:
    """The last term is left out of the sum."""
    return (x[:, :-1].float().sum(1) / x.shape[1]).to(x.dtype)


def tail_lost(x: torch.Tensor) -> torch.Tensor:
    """Terms behind the last whole vector of eight are left out of sum and count."""
    return x[:, : x.shape[1] // 8 * 8 or x.shape[1]].float().mean(1).to(x.dtype)


def first_term_twice(x: torch.Tensor) -> torch.Tensor:
    """The first term is the initial value too."""
    return ((x[:, 0].float() + x.float().sum(1)) / x.shape[1]).to(x.dtype)


def middle_of_the_range(x: torch.Tensor) -> torch.Tensor:
    """Halfway between the smallest and the largest term."""
    return ((x.float().amin(1) + x.float().amax(1)) / 2).to(x.dtype)


def magnitudes(x: torch.Tensor) -> torch.Tensor:
    """Signs are lost."""
    return x.float().abs().mean(1).to(x.dtype)


def half_accumulators(x: torch.Tensor) -> torch.Tensor:
    """Partial sums are kept in bfloat16, by eight lanes."""
    return (summed(_last(x), torch.bfloat16, lanes=8).float() / x.shape[1]).to(x.dtype)


def accumulators_of_the_dtype(x: torch.Tensor) -> torch.Tensor:
    """Halves: partial sums are kept in the input's own dtype, by four lanes."""
    return (summed(_last(x), x.dtype, lanes=4).float() / x.shape[1]).to(x.dtype)


def half_running_mean(x: torch.Tensor) -> torch.Tensor:
    """A running mean over tiles of 16 is kept in a half dtype."""
    lower = torch.bfloat16 if x.dtype == torch.float32 else x.dtype
    mean, count = x.new_zeros((x.shape[0], x.shape[2]), dtype=lower), 0
    for part in x.float().split(16, 1):
        count += part.shape[1]
        mean = (mean.float() + (part.mean(1) - mean.float()) * (part.shape[1] / count)).to(lower)
    return mean.to(x.dtype)


def tf32_terms(x: torch.Tensor) -> torch.Tensor:
    """float32: terms pass through a TF32 unit, as when the sum is a product with ones."""
    return tf32(x).mean(1)


def other_axis(x: torch.Tensor) -> torch.Tensor:
    """The terms are taken as if the middle axis were the last one."""
    return x.reshape(x.shape[0], x.shape[2], x.shape[1]).float().mean(-1).to(x.dtype)


def one_column_of_another(x: torch.Tensor) -> torch.Tensor:
    """The last column is the first one's mean."""
    y = x.float().mean(1)
    y[:, -1] = y[:, 0].clone()
    return y.to(x.dtype)


accumulators_of_the_dtype.dtypes = ("float16", "bfloat16")
tf32_terms.dtypes = ("float32",)

HONEST = (warp_for_a_mean, multiplied_by_the_inverse, divided_before, means_of_tiles)
MUTANTS = (
    tiles_of_equal_weight, sum_alone, divided_by_one_less, divided_by_the_padded_length, divided_by_the_wrong_axis,
    last_term_lost, tail_lost, first_term_twice, middle_of_the_range, magnitudes, half_accumulators,
    accumulators_of_the_dtype, half_running_mean, tf32_terms, other_axis, one_column_of_another,
)  # fmt: skip
