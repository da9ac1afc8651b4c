"""Variants of the sum: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import summed, tf32


def _last(x: torch.Tensor) -> torch.Tensor:
    return x.float().transpose(1, 2).contiguous()


def warp_for_a_sum(x: torch.Tensor) -> torch.Tensor:
    """32 float32 accumulators, then a tree."""
    return summed(_last(x)).to(x.dtype)


def running(x: torch.Tensor) -> torch.Tensor:
    """One float32 accumulator, one term after the other."""
    return summed(_last(x), lanes=1).to(x.dtype)


def pairwise(x: torch.Tensor) -> torch.Tensor:
    """A binary tree over all terms."""
    terms = _last(x)
    while terms.shape[-1] > 1:
        if terms.shape[-1] % 2:
            terms = torch.nn.functional.pad(terms, (0, 1))
        terms = terms[..., ::2] + terms[..., 1::2]
    return terms[..., 0].to(x.dtype)


def split_in_parts(x: torch.Tensor) -> torch.Tensor:
    """Blocks of 256 terms into float32 partial sums, added from the last to the first, as atomics may come."""
    total = x.new_zeros((x.shape[0], x.shape[2]), dtype=torch.float32)
    for part in reversed(x.float().split(256, 1)):
        total += part.sum(1)
    return total.to(x.dtype)


def compensated(x: torch.Tensor) -> torch.Tensor:
    """Kahan's summation in float32 over eight lanes."""
    terms = _last(x)
    terms = torch.nn.functional.pad(terms, (0, -terms.shape[-1] % 8)).unflatten(-1, (-1, 8))
    total = torch.zeros_like(terms[..., 0, :])
    lost = torch.zeros_like(total)
    for part in terms.unbind(-2):
        part = part - lost
        new = total + part
        lost = (new - total) - part
        total = new
    return total.sum(-1).to(x.dtype)


def last_term_lost(x: torch.Tensor) -> torch.Tensor:
    """The last term is left out."""
    return x[:, :-1].float().sum(1).to(x.dtype)


def tail_lost(x: torch.Tensor) -> torch.Tensor:
    """Terms behind the last whole vector of eight are left out."""
    return x[:, : x.shape[1] // 8 * 8 or x.shape[1]].float().sum(1).to(x.dtype)


def first_term_twice(x: torch.Tensor) -> torch.Tensor:
    """The first term is the initial value too."""
    return (x[:, 0].float() + x.float().sum(1)).to(x.dtype)


def overlapping_blocks(x: torch.Tensor) -> torch.Tensor:
    """The first term of each block of 256 but the first is counted in the block before too."""
    doubled = x[:, 256::256].float().sum(1)
    return (x.float().sum(1) + doubled).to(x.dtype)


def half_accumulators(x: torch.Tensor) -> torch.Tensor:
    """Partial sums are kept in bfloat16, by eight lanes."""
    return summed(_last(x), torch.bfloat16, lanes=8).to(x.dtype)


def accumulators_of_the_dtype(x: torch.Tensor) -> torch.Tensor:
    """Halves: partial sums are kept in the input's own dtype, by four lanes."""
    return summed(_last(x), x.dtype, lanes=4)


def half_parts(x: torch.Tensor) -> torch.Tensor:
    """Blocks of 16 terms are summed in float32, but handed on in a half dtype."""
    lower = torch.bfloat16 if x.dtype == torch.float32 else x.dtype
    total = x.new_zeros((x.shape[0], x.shape[2]), dtype=lower)
    for part in x.float().split(16, 1):
        total = total + part.sum(1).to(lower)
    return total.to(x.dtype)


def tf32_terms(x: torch.Tensor) -> torch.Tensor:
    """float32: terms pass through a TF32 unit, as when the sum is a product with ones."""
    return tf32(x).sum(1)


def mean(x: torch.Tensor) -> torch.Tensor:
    """The mean."""
    return x.float().mean(1).to(x.dtype)


def magnitudes(x: torch.Tensor) -> torch.Tensor:
    """Signs are lost."""
    return x.float().abs().sum(1).to(x.dtype)


def other_axis(x: torch.Tensor) -> torch.Tensor:
    """The terms are taken as if the middle axis were the last one."""
    return x.reshape(x.shape[0], x.shape[2], x.shape[1]).float().sum(-1).to(x.dtype)


def one_column_of_another(x: torch.Tensor) -> torch.Tensor:
    """The last column is the first one's sum."""
    y = x.float().sum(1)
    y[:, -1] = y[:, 0].clone()
    return y.to(x.dtype)


accumulators_of_the_dtype.dtypes = ("float16", "bfloat16")
tf32_terms.dtypes = ("float32",)

HONEST = (warp_for_a_sum, running, pairwise, split_in_parts, compensated)
MUTANTS = (
    last_term_lost,
    tail_lost,
    first_term_twice,
    overlapping_blocks,
    half_accumulators,
    accumulators_of_the_dtype,
    half_parts,
    tf32_terms,
    mean,
    magnitudes,
    other_axis,
    one_column_of_another,
)
