"""Variants of global average pooling: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import summed, summed_in_turn, tf32


def _terms(x: torch.Tensor) -> torch.Tensor:
    """[batch, channels, height * width] in float32."""
    return x.float().flatten(2)


def warp_for_a_channel(x: torch.Tensor) -> torch.Tensor:
    """32 float32 accumulators, then a tree."""
    terms = _terms(x)
    return (summed(terms) / terms.shape[-1]).to(x.dtype)


def one_accumulator(x: torch.Tensor) -> torch.Tensor:
    """One float32 accumulator, one term after the other, times a reciprocal."""
    terms = _terms(x)
    return (summed_in_turn(terms.contiguous()) * (1 / terms.shape[-1])).to(x.dtype)


def rows_first(x: torch.Tensor) -> torch.Tensor:
    """The mean of each row, then the mean of those."""
    return x.float().mean(-1).mean(-1).to(x.dtype)


def channels_innermost(x: torch.Tensor) -> torch.Tensor:
    """As in an image with the channels innermost: 16 partial sums for each channel, added at the end."""
    terms = _terms(x).transpose(1, 2)
    parts = [part.sum(1) for part in terms.tensor_split(16, 1)]
    return (torch.stack(parts).sum(0) / terms.shape[1]).to(x.dtype)


def product_with_ones(x: torch.Tensor) -> torch.Tensor:
    """A product with a vector of ones in float32, divided at the end."""
    terms = _terms(x)
    return (terms @ torch.ones(terms.shape[-1]) / terms.shape[-1]).to(x.dtype)


def not_divided(x: torch.Tensor) -> torch.Tensor:
    """The sum."""
    return _terms(x).sum(-1).to(x.dtype)


def divided_by_the_width(x: torch.Tensor) -> torch.Tensor:
    """Divided by the width alone."""
    return (_terms(x).sum(-1) / x.shape[3]).to(x.dtype)


def divided_by_one_less(x: torch.Tensor) -> torch.Tensor:
    """Divided by the number of places minus one."""
    terms = _terms(x)
    return (terms.sum(-1) / (terms.shape[-1] - 1 or 2)).to(x.dtype)


def maximum(x: torch.Tensor) -> torch.Tensor:
    """The maximum of each channel."""
    return x.amax((-2, -1))


def magnitudes(x: torch.Tensor) -> torch.Tensor:
    """Signs are lost."""
    return _terms(x).abs().mean(-1).to(x.dtype)


def last_term_lost(x: torch.Tensor) -> torch.Tensor:
    """The last place of each channel is left out of the sum."""
    terms = _terms(x)
    return (terms[..., :-1].sum(-1) / terms.shape[-1]).to(x.dtype)


def last_row_lost(x: torch.Tensor) -> torch.Tensor:
    """The last row of each channel is left out of the sum."""
    return (x[:, :, :-1].float().sum((-2, -1)) / (x.shape[2] * x.shape[3])).to(x.dtype)


def tail_lost(x: torch.Tensor) -> torch.Tensor:
    """Places behind the last whole vector of four are left out of the sum."""
    terms = _terms(x)
    count = terms.shape[-1]
    return (terms[..., : count // 4 * 4 or count].sum(-1) / count).to(x.dtype)


def overlapping_blocks(x: torch.Tensor) -> torch.Tensor:
    """The first term of each block of 128 but the first is counted in the block before too."""
    terms = _terms(x)
    return ((terms.sum(-1) + terms[..., 128::128].sum(-1)) / terms.shape[-1]).to(x.dtype)


def half_of_the_image(x: torch.Tensor) -> torch.Tensor:
    """The mean of every second row stands for all."""
    return x[:, :, ::2].float().mean((-2, -1)).to(x.dtype)


def last_channel_of_another(x: torch.Tensor) -> torch.Tensor:
    """The last channel is the mean of the first one."""
    y = _terms(x).mean(-1)
    y[:, -1] = y[:, 0].clone()
    return y.to(x.dtype)


def other_axis(x: torch.Tensor) -> torch.Tensor:
    """The channels are taken to be the innermost axis."""
    return x.reshape(len(x), -1, x.shape[1]).float().mean(1).to(x.dtype)


def tf32_terms(x: torch.Tensor) -> torch.Tensor:
    """float32: terms pass through a TF32 unit, as when the sum is a product with ones."""
    return tf32(x).flatten(2).mean(-1)


def half_accumulators(x: torch.Tensor) -> torch.Tensor:
    """Partial sums are kept in bfloat16, by eight lanes."""
    terms = _terms(x)
    return (summed(terms, torch.bfloat16, lanes=8).float() / terms.shape[-1]).to(x.dtype)


def accumulators_of_the_dtype(x: torch.Tensor) -> torch.Tensor:
    """Halves: partial sums are kept in the input's own dtype, by four lanes."""
    terms = _terms(x)
    return (summed(terms, x.dtype, lanes=4).float() / terms.shape[-1]).to(x.dtype)


def reciprocal_in_bfloat16(x: torch.Tensor) -> torch.Tensor:
    """The reciprocal of the number of places is kept in bfloat16."""
    terms = _terms(x)
    return (terms.sum(-1) * torch.tensor(1 / terms.shape[-1]).bfloat16().float()).to(x.dtype)


tf32_terms.dtypes = ("float32",)
reciprocal_in_bfloat16.dtypes = ("float32", "float16")
accumulators_of_the_dtype.dtypes = ("float16", "bfloat16")

HONEST = (warp_for_a_channel, one_accumulator, rows_first, channels_innermost, product_with_ones)
MUTANTS = (
    not_divided, divided_by_the_width, divided_by_one_less, maximum, magnitudes, last_term_lost, last_row_lost,
    tail_lost, overlapping_blocks, half_of_the_image, last_channel_of_another, other_axis, tf32_terms,
    half_accumulators, accumulators_of_the_dtype, reciprocal_in_bfloat16,
)  # fmt: skip
