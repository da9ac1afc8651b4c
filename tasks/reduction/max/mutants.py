"""Variants of the maximum: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.lower_precision import lower


def pairwise(x: torch.Tensor) -> torch.Tensor:
    """A binary tree over all terms."""
    while x.shape[1] > 1:
        half = x.shape[1] // 2
        x = torch.cat((torch.maximum(x[:, :half], x[:, half : 2 * half]), x[:, 2 * half :]), 1)
    return x[:, 0]


def in_blocks(x: torch.Tensor) -> torch.Tensor:
    """Blocks of 256 terms, widened to float32, joined from the last to the first as atomics may come."""
    parts = [part.float().amax(1) for part in x.split(256, 1)]
    y = parts[-1]
    for part in reversed(parts[:-1]):
        y = torch.maximum(y, part)
    return y.to(x.dtype)


def by_sorting(x: torch.Tensor) -> torch.Tensor:
    """The last one in ascending order."""
    return x.sort(1).values[:, -1]


def negated_minimum(x: torch.Tensor) -> torch.Tensor:
    """The minimum of the opposites."""
    return -(-x).amin(1)


def minimum(x: torch.Tensor) -> torch.Tensor:
    """The minimum."""
    return x.amin(1)


def magnitude(x: torch.Tensor) -> torch.Tensor:
    """The largest magnitude."""
    return x.abs().amax(1)


def starts_at_zero(x: torch.Tensor) -> torch.Tensor:
    """The running maximum starts at zero."""
    return x.amax(1).clamp(min=0)


def starts_at_a_low_number(x: torch.Tensor) -> torch.Tensor:
    """The running maximum starts at -10,000."""
    return x.amax(1).clamp(min=-1e4)


def starts_at_the_smallest_normal(x: torch.Tensor) -> torch.Tensor:
    """The running maximum starts at FLT_MIN, which is no lower bound."""
    return x.amax(1).clamp(min=torch.finfo(x.dtype).tiny)


def last_term_unseen(x: torch.Tensor) -> torch.Tensor:
    """The last term is not looked at."""
    return x[:, : max(1, x.shape[1] - 1)].amax(1)


def first_term_unseen(x: torch.Tensor) -> torch.Tensor:
    """The first term is not looked at."""
    return x[:, min(1, x.shape[1] - 1) :].amax(1)


def tail_unseen(x: torch.Tensor) -> torch.Tensor:
    """Terms behind the last whole vector of eight are not looked at."""
    return x[:, : x.shape[1] // 8 * 8 or x.shape[1]].amax(1)


def padded_with_zeros(x: torch.Tensor) -> torch.Tensor:
    """The axis is padded with zeros to a multiple of 32."""
    return torch.nn.functional.pad(x, (0, 0, 0, -x.shape[1] % 32)).amax(1)


def first_block_alone(x: torch.Tensor) -> torch.Tensor:
    """Only the first block of 64 terms is looked at: the others' results are overwritten."""
    return x[:, :64].amax(1)


def every_other_term(x: torch.Tensor) -> torch.Tensor:
    """Every second term is skipped."""
    return x[:, ::2].amax(1)


def nan_unseen(x: torch.Tensor) -> torch.Tensor:
    """A NaN loses every comparison, as with fmaxf."""
    return x.nan_to_num(nan=-torch.inf, posinf=torch.inf, neginf=-torch.inf).amax(1)


def second_largest(x: torch.Tensor) -> torch.Tensor:
    """The second largest, where there are two."""
    return x.sort(1).values[:, -2:][:, 0]


def lower_precision(x: torch.Tensor) -> torch.Tensor:
    """Values are rounded to the next lower precision before they are compared."""
    return lower(x).amax(1)


def smooth(x: torch.Tensor) -> torch.Tensor:
    """A soft maximum, log(sum(exp(64 x))) / 64."""
    return (torch.logsumexp(x.double() * 64, 1) / 64).to(x.dtype)


def other_axis(x: torch.Tensor) -> torch.Tensor:
    """The terms are taken as if the middle axis were the last one."""
    return x.reshape(x.shape[0], x.shape[2], x.shape[1]).amax(-1)


def one_column_of_another(x: torch.Tensor) -> torch.Tensor:
    """The last column is the first one's maximum."""
    y = x.amax(1)
    y[:, -1] = y[:, 0].clone()
    return y


def keys_of_bits(x: torch.Tensor) -> torch.Tensor:
    """Values are compared by integers made of their bits, of which a negative NaN is the smallest."""
    bits = x.float().view(torch.int32)
    keys = torch.where(bits < 0, bits ^ 0x7FFFFFFF, bits).amax(1)
    return torch.where(keys < 0, keys ^ 0x7FFFFFFF, keys).view(torch.float32).to(x.dtype)


HONEST = (pairwise, in_blocks, by_sorting, negated_minimum)
MUTANTS = (
    minimum, magnitude, starts_at_zero, starts_at_a_low_number,
    starts_at_the_smallest_normal, last_term_unseen, first_term_unseen, tail_unseen,
    padded_with_zeros, first_block_alone, every_other_term, nan_unseen, second_largest, lower_precision, smooth,
    other_axis, one_column_of_another,
    keys_of_bits,
)  # fmt: skip
