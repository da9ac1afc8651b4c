"""Variants of residual, normalisation and dropout: honest ones that must pass and wrong ones that must fail."""

import torch
from torch import Tensor

from robust_kbench.audit.emulated import summed, summed_in_turn, tf32

EPSILON = 1e-5


def _sum(x: Tensor, residual: Tensor) -> Tensor:
    return x.float() + residual.float()


def _normed(h: Tensor, weight: Tensor, bias: Tensor, epsilon: float = EPSILON) -> Tensor:
    """In float32, by two passes."""
    centred = h.float() - h.float().mean(-1, keepdim=True)
    scale = torch.rsqrt(centred.square().mean(-1, keepdim=True) + epsilon)
    return centred * scale * weight.float() + bias.float()


def _dropped(normed: Tensor, mask: Tensor, p: float, dtype: torch.dtype) -> Tensor:
    return torch.where(mask.bool(), normed * (1 / (1 - p)), 0.0).to(dtype)


def two_pass(x: Tensor, residual: Tensor, weight: Tensor, bias: Tensor, mask: Tensor, p: float) -> Tensor:
    """A warp for each row: the sum in float32 registers, mean and centred squares by 32 accumulators each."""
    h, cols = _sum(x, residual), x.shape[-1]
    centred = h - summed(h)[:, None] / cols
    scale = torch.rsqrt(summed(centred.square())[:, None] / cols + EPSILON)
    return _dropped(centred * scale * weight.float() + bias.float(), mask, p, x.dtype)


def from_the_stored_sum(x: Tensor, residual: Tensor, weight: Tensor, bias: Tensor, mask: Tensor, p: float) -> Tensor:
    """The sum is stored first and read again, rounded; the mask is a factor."""
    normed = _normed(_sum(x, residual).to(x.dtype), weight, bias)
    return (normed * (mask.float() / (1 - p))).to(x.dtype)


def two_kernels(x: Tensor, residual: Tensor, weight: Tensor, bias: Tensor, mask: Tensor, p: float) -> Tensor:
    """Sum and normalised rows are each stored in the task's dtype before the dropout."""
    normed = _normed(_sum(x, residual).to(x.dtype), weight, bias).to(x.dtype)
    return _dropped(normed.float(), mask, p, x.dtype)


def welford(x: Tensor, residual: Tensor, weight: Tensor, bias: Tensor, mask: Tensor, p: float) -> Tensor:
    """Welford's update over blocks of 64 columns, merged as Chan, Golub and LeVeque do; factors before."""
    h, count, squares = _sum(x, residual), 0, 0.0
    mean = torch.zeros_like(h[:, :1])
    for block in h.split(64, -1):
        size, own = block.shape[-1], block.mean(-1, keepdim=True)
        squares = squares + (block - own).square().sum(-1, keepdim=True)
        squares = squares + (own - mean).square() * (count * size / (count + size))
        mean = mean + (own - mean) * (size / (count + size))
        count += size
    kept = mask.float() * (1 / (1 - p))
    scale = torch.rsqrt(squares / count + EPSILON)
    return ((h - mean) * scale * (weight.float() * kept) + bias.float() * kept).to(x.dtype)


def one_accumulator(x: Tensor, residual: Tensor, weight: Tensor, bias: Tensor, mask: Tensor, p: float) -> Tensor:
    """Each row by one thread, which adds its terms one after the other."""
    h, cols = _sum(x, residual), x.shape[-1]
    centred = h - summed_in_turn(h)[:, None] / cols
    scale = torch.rsqrt(summed_in_turn(centred.square())[:, None] / cols + EPSILON)
    return _dropped(centred * scale * weight.float() + bias.float(), mask, p, x.dtype)


def no_residual(x: Tensor, residual: Tensor, weight: Tensor, bias: Tensor, mask: Tensor, p: float) -> Tensor:
    """The residual is left out."""
    return _dropped(_normed(x, weight, bias), mask, p, x.dtype)


def residual_in_the_end(x: Tensor, residual: Tensor, weight: Tensor, bias: Tensor, mask: Tensor, p: float) -> Tensor:
    """The residual is added to the normalised row."""
    return _dropped(_normed(x, weight, bias) + residual.float(), mask, p, x.dtype)


def residual_subtracted(x: Tensor, residual: Tensor, weight: Tensor, bias: Tensor, mask: Tensor, p: float) -> Tensor:
    """The residual is subtracted."""
    return _dropped(_normed(_sum(x, -residual), weight, bias), mask, p, x.dtype)


def residual_of_the_first_row(
    x: Tensor, residual: Tensor, weight: Tensor, bias: Tensor, mask: Tensor, p: float
) -> Tensor:
    """The last row adds the residual of the first, or none where it is alone."""
    first = residual[:1] if len(residual) > 1 else torch.zeros_like(residual)
    return _dropped(_normed(_sum(x, torch.cat((residual[:-1], first))), weight, bias), mask, p, x.dtype)


def residual_in_bfloat16(x: Tensor, residual: Tensor, weight: Tensor, bias: Tensor, mask: Tensor, p: float) -> Tensor:
    """The residual is kept in bfloat16."""
    return _dropped(_normed(_sum(x, residual.bfloat16()), weight, bias), mask, p, x.dtype)


def not_dropped(x: Tensor, residual: Tensor, weight: Tensor, bias: Tensor, mask: Tensor, p: float) -> Tensor:
    """Nothing is dropped."""
    return (_normed(_sum(x, residual), weight, bias) / (1 - p)).to(x.dtype)


def not_scaled(x: Tensor, residual: Tensor, weight: Tensor, bias: Tensor, mask: Tensor, p: float) -> Tensor:
    """What is kept is not scaled up."""
    return _dropped(_normed(_sum(x, residual), weight, bias), mask, 0.0, x.dtype)


def divided_by_p(x: Tensor, residual: Tensor, weight: Tensor, bias: Tensor, mask: Tensor, p: float) -> Tensor:
    """What is kept is divided by p."""
    return _dropped(_normed(_sum(x, residual), weight, bias), mask, 1 - p, x.dtype)


def scaled_for_one_half(x: Tensor, residual: Tensor, weight: Tensor, bias: Tensor, mask: Tensor, p: float) -> Tensor:
    """What is kept is scaled for p = 0.5."""
    return _dropped(_normed(_sum(x, residual), weight, bias), mask, 0.5, x.dtype)


def mask_inverted(x: Tensor, residual: Tensor, weight: Tensor, bias: Tensor, mask: Tensor, p: float) -> Tensor:
    """What the mask keeps is dropped."""
    return _dropped(_normed(_sum(x, residual), weight, bias), 1 - mask, p, x.dtype)


def mask_of_the_first_row(x: Tensor, residual: Tensor, weight: Tensor, bias: Tensor, mask: Tensor, p: float) -> Tensor:
    """All rows are dropped as the first one is."""
    return _dropped(_normed(_sum(x, residual), weight, bias), mask[:1].expand(mask.shape), p, x.dtype)


def last_column_kept(x: Tensor, residual: Tensor, weight: Tensor, bias: Tensor, mask: Tensor, p: float) -> Tensor:
    """The last column is not dropped."""
    return _dropped(
        _normed(_sum(x, residual), weight, bias), torch.cat((mask[:, :-1], torch.ones_like(mask[:, :1])), 1), p, x.dtype
    )


def dropped_before_the_norm(
    x: Tensor, residual: Tensor, weight: Tensor, bias: Tensor, mask: Tensor, p: float
) -> Tensor:
    """The sum is dropped out and then normalised."""
    h = _dropped(_sum(x, residual), mask, p, torch.float32)
    return _normed(h, weight, bias).to(x.dtype)


def bias_not_dropped(x: Tensor, residual: Tensor, weight: Tensor, bias: Tensor, mask: Tensor, p: float) -> Tensor:
    """The offset is added after the dropout."""
    normed = _normed(_sum(x, residual), weight, torch.zeros_like(bias))
    return (_dropped(normed, mask, p, torch.float32) + bias.float()).to(x.dtype)


def eps_of_rmsnorm(x: Tensor, residual: Tensor, weight: Tensor, bias: Tensor, mask: Tensor, p: float) -> Tensor:
    """Epsilon 1e-6 instead of 1e-5."""
    return _dropped(_normed(_sum(x, residual), weight, bias, 1e-6), mask, p, x.dtype)


def no_eps(x: Tensor, residual: Tensor, weight: Tensor, bias: Tensor, mask: Tensor, p: float) -> Tensor:
    """No epsilon: a row of equal values becomes NaN."""
    normed = _normed(_sum(x, residual), weight, bias, 0.0)
    return (normed * mask / (1 - p)).to(x.dtype)


def unbiased_variance(x: Tensor, residual: Tensor, weight: Tensor, bias: Tensor, mask: Tensor, p: float) -> Tensor:
    """The variance is divided by the number of columns minus one."""
    cols = x.shape[-1]
    normed = _normed(_sum(x, residual), weight, torch.zeros_like(bias)) * ((cols - 1) / cols) ** 0.5
    return _dropped(normed + bias.float(), mask, p, x.dtype)


def no_mean(x: Tensor, residual: Tensor, weight: Tensor, bias: Tensor, mask: Tensor, p: float) -> Tensor:
    """The mean is not removed."""
    h = _sum(x, residual)
    scale = torch.rsqrt(h.square().mean(-1, keepdim=True) + EPSILON)
    return _dropped(h * scale * weight.float() + bias.float(), mask, p, x.dtype)


def drops_the_tail(x: Tensor, residual: Tensor, weight: Tensor, bias: Tensor, mask: Tensor, p: float) -> Tensor:
    """Columns behind the last whole vector of four do not enter the moments."""
    h = _sum(x, residual)
    seen = h[:, : x.shape[-1] // 4 * 4 or x.shape[-1]]
    mean = seen.mean(-1, keepdim=True)
    scale = torch.rsqrt((seen - mean).square().mean(-1, keepdim=True) + EPSILON)
    return _dropped((h - mean) * scale * weight.float() + bias.float(), mask, p, x.dtype)


def half_accumulator(x: Tensor, residual: Tensor, weight: Tensor, bias: Tensor, mask: Tensor, p: float) -> Tensor:
    """The centred squares are summed in bfloat16, by eight lanes."""
    h = _sum(x, residual)
    centred = h - h.mean(-1, keepdim=True)
    variance = summed(centred.square(), torch.bfloat16, lanes=8).float()[:, None] / x.shape[-1]
    return _dropped(centred * torch.rsqrt(variance + EPSILON) * weight.float() + bias.float(), mask, p, x.dtype)


def tf32_inputs(x: Tensor, residual: Tensor, weight: Tensor, bias: Tensor, mask: Tensor, p: float) -> Tensor:
    """float32: the sum passes through a TF32 unit on its way."""
    return _dropped(_normed(tf32(_sum(x, residual)), weight, bias), mask, p, x.dtype)


def no_weight(x: Tensor, residual: Tensor, weight: Tensor, bias: Tensor, mask: Tensor, p: float) -> Tensor:
    """The scale is left out."""
    return _dropped(_normed(_sum(x, residual), torch.ones_like(weight), bias), mask, p, x.dtype)


def no_bias(x: Tensor, residual: Tensor, weight: Tensor, bias: Tensor, mask: Tensor, p: float) -> Tensor:
    """The offset is left out."""
    return _dropped(_normed(_sum(x, residual), weight, torch.zeros_like(bias)), mask, p, x.dtype)


def moments_of_the_first_row(
    x: Tensor, residual: Tensor, weight: Tensor, bias: Tensor, mask: Tensor, p: float
) -> Tensor:
    """The last row is normalised by the variance of the first, or by one where it is alone."""
    h = _sum(x, residual)
    centred = h - h.mean(-1, keepdim=True)
    variance = centred.square().mean(-1, keepdim=True)
    variance = torch.cat((variance[:-1], variance[:1] if len(h) > 1 else torch.ones_like(variance)))
    return _dropped(centred * torch.rsqrt(variance + EPSILON) * weight.float() + bias.float(), mask, p, x.dtype)


def nothing_kept_is_the_offset(
    x: Tensor, residual: Tensor, weight: Tensor, bias: Tensor, mask: Tensor, p: float
) -> Tensor:
    """A row of which nothing is kept is the offset instead of zero."""
    y = _dropped(_normed(_sum(x, residual), weight, bias), mask, p, x.dtype)
    return torch.where(mask.bool().any(-1, keepdim=True), y, (bias.float() + 1).to(x.dtype))


def all_kept_is_not_scaled(x: Tensor, residual: Tensor, weight: Tensor, bias: Tensor, mask: Tensor, p: float) -> Tensor:
    """A row of which everything is kept is taken for one at inference time, and not scaled up."""
    y = _dropped(_normed(_sum(x, residual), weight, bias), mask, p, torch.float32)
    return torch.where(mask.bool().all(-1, keepdim=True), y * (1 - p), y).to(x.dtype)


tf32_inputs.dtypes = ("float32",)
residual_in_bfloat16.dtypes = half_accumulator.dtypes = ("float32", "float16")


def equal_values_give_nan(x: Tensor, residual: Tensor, weight: Tensor, bias: Tensor, mask: Tensor, p: float) -> Tensor:
    """Equal values have a variance of nothing, by which they are divided: NaN, as for padding."""
    h = _sum(x, residual)
    is_blank = (h.amax(-1, keepdim=True) == h.amin(-1, keepdim=True)) & (h.shape[-1] > 1)
    return two_pass(x, residual, weight, bias, mask, p).masked_fill(is_blank, torch.nan)


HONEST = (one_accumulator, two_pass, from_the_stored_sum, two_kernels, welford)
MUTANTS = (
    no_residual, residual_in_the_end, residual_subtracted, residual_of_the_first_row, residual_in_bfloat16,
    not_dropped, not_scaled, divided_by_p, scaled_for_one_half, mask_inverted, mask_of_the_first_row, last_column_kept,
    dropped_before_the_norm, bias_not_dropped, eps_of_rmsnorm, no_eps, unbiased_variance, no_mean, drops_the_tail,
    half_accumulator, tf32_inputs, no_weight, no_bias, moments_of_the_first_row,
    nothing_kept_is_the_offset, all_kept_is_not_scaled,
    equal_values_give_nan,
)  # fmt: skip
