"""Variants of the minimum: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.lower_precision import lower


def pairwise(x: torch.Tensor) -> torch.Tensor:
    """A binary tree over all terms."""
    while x.shape[1] > 1:
        half = x.shape[1] // 2
        x = torch.cat((torch.minimum(x[:, :half], x[:, half : 2 * half]), x[:, 2 * half :]), 1)
    return x[:, 0]


def by_lanes(x: torch.Tensor) -> torch.Tensor:
    """32 lanes, each of which has every 32nd term, filled up with infinities; then all lanes at once."""
    filled = torch.nn.functional.pad(x.float(), (0, 0, 0, -x.shape[1] % 32), value=torch.inf)
    return filled.unflatten(1, (-1, 32)).amin(1).amin(1).to(x.dtype)


def by_sorting(x: torch.Tensor) -> torch.Tensor:
    """The last one in descending order, in which NaN comes first, unless the first one is NaN."""
    ordered = x.sort(1, descending=True).values
    return torch.where(ordered[:, 0].isnan(), ordered[:, 0], ordered[:, -1])


def negated_maximum(x: torch.Tensor) -> torch.Tensor:
    """The maximum of the opposites."""
    return -(-x).amax(1)


def maximum(x: torch.Tensor) -> torch.Tensor:
    """The maximum."""
    return x.amax(1)


def smallest_magnitude(x: torch.Tensor) -> torch.Tensor:
    """The smallest magnitude."""
    return x.abs().amin(1)


def magnitude_of_the_smallest(x: torch.Tensor) -> torch.Tensor:
    """The sign of the result is lost."""
    return x.amin(1).abs()


def starts_at_zero(x: torch.Tensor) -> torch.Tensor:
    """The running minimum starts at zero."""
    return x.amin(1).clamp(max=0)


def starts_at_a_high_number(x: torch.Tensor) -> torch.Tensor:
    """The running minimum starts at 10,000."""
    return x.amin(1).clamp(max=1e4)


def starts_at_one_half(x: torch.Tensor) -> torch.Tensor:
    """The running minimum starts at one half, above which few results lie."""
    return x.amin(1).clamp(max=0.5)


def last_term_unseen(x: torch.Tensor) -> torch.Tensor:
    """The last term is not looked at."""
    return x[:, : max(1, x.shape[1] - 1)].amin(1)


def tail_unseen(x: torch.Tensor) -> torch.Tensor:
    """Terms behind the last whole vector of four are not looked at."""
    return x[:, : x.shape[1] // 4 * 4 or x.shape[1]].amin(1)


def padded_with_zeros(x: torch.Tensor) -> torch.Tensor:
    """The axis is padded with zeros to a multiple of 32."""
    return torch.nn.functional.pad(x, (0, 0, 0, -x.shape[1] % 32)).amin(1)


def last_block_alone(x: torch.Tensor) -> torch.Tensor:
    """Only the last block of 64 terms is looked at: the others' results are overwritten."""
    return x.split(64, 1)[-1].amin(1)


def lanes_not_joined(x: torch.Tensor) -> torch.Tensor:
    """Of 32 lanes only the first 16 are joined."""
    kept = torch.arange(x.shape[1]) % 32 < 16
    return x[:, kept].amin(1)


def nan_unseen(x: torch.Tensor) -> torch.Tensor:
    """A NaN loses every comparison, as with fminf."""
    return x.nan_to_num(nan=torch.inf, posinf=torch.inf, neginf=-torch.inf).amin(1)


def second_smallest(x: torch.Tensor) -> torch.Tensor:
    """The second smallest, where there are two."""
    return x.sort(1).values[:, :2][:, -1]


def lower_precision(x: torch.Tensor) -> torch.Tensor:
    """Values are rounded to the next lower precision before they are compared."""
    return lower(x).amin(1)


def smooth(x: torch.Tensor) -> torch.Tensor:
    """A soft minimum, -log(sum(exp(-64 x))) / 64."""
    return (torch.logsumexp(x.double() * -64, 1) / -64).to(x.dtype)


def over_the_last_axis(x: torch.Tensor) -> torch.Tensor:
    """The terms are taken as if the middle axis were the last one."""
    return x.reshape(x.shape[0], x.shape[2], x.shape[1]).amin(-1)


def one_column_of_another(x: torch.Tensor) -> torch.Tensor:
    """The last column is the first one's minimum."""
    y = x.amin(1)
    y[:, -1] = y[:, 0].clone()
    return y


HONEST = (pairwise, by_lanes, by_sorting, negated_maximum)
MUTANTS = (
    maximum, smallest_magnitude, magnitude_of_the_smallest, starts_at_zero, starts_at_a_high_number, starts_at_one_half,
    last_term_unseen,
    tail_unseen, padded_with_zeros, last_block_alone, lanes_not_joined, nan_unseen, second_smallest, lower_precision,
    smooth, over_the_last_axis, one_column_of_another,
)  # fmt: skip
