"""Variants of the logarithm of softmax: honest ones that must pass and wrong ones that must fail."""

import math

import torch

from robust_kbench.audit.emulated import summed, summed_in_turn, tf32


def _shifted(x: torch.Tensor) -> torch.Tensor:
    return x.float() - x.float().amax(-1, keepdim=True)


def _less_logarithm(shifted: torch.Tensor, total: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    return (shifted - total.log()).to(dtype)


def warp_for_a_row(x: torch.Tensor) -> torch.Tensor:
    """32 float32 accumulators, then a tree."""
    shifted = _shifted(x)
    return _less_logarithm(shifted, summed(shifted.exp())[:, None], x.dtype)


def online(x: torch.Tensor) -> torch.Tensor:
    """One pass over blocks of columns that rescales the running sum when the maximum grows, in float32."""
    return _online_from(torch.finfo(torch.float32).min, x)


def tiles_from_minus_infinity(x: torch.Tensor) -> torch.Tensor:
    """Online, with -inf as the first maximum: NaN where a whole block at the beginning of a row is masked."""
    return _online_from(-math.inf, x)


def _online_from(least: float, x: torch.Tensor) -> torch.Tensor:
    largest = x.new_full((x.shape[0], 1), least, dtype=torch.float32)
    total = torch.zeros_like(largest)
    for block in x.float().split(max(128, x.shape[-1] // 32), -1):
        new = torch.maximum(largest, block.amax(-1, keepdim=True))
        total = total * torch.exp(largest - new) + torch.exp(block - new).sum(-1, keepdim=True)
        largest = new
    return _less_logarithm(x.float() - largest, total, x.dtype)


def base_two(x: torch.Tensor) -> torch.Tensor:
    """Powers and logarithm of two, as the special function unit has them; eight accumulators."""
    shifted = _shifted(x)
    total = summed(torch.exp2(shifted * math.log2(math.e)), lanes=8)[:, None]
    return (shifted - total.log2() * math.log(2)).to(x.dtype)


def from_logsumexp(x: torch.Tensor) -> torch.Tensor:
    """The row's log-sum-exp is finished before it is subtracted."""
    largest = x.float().amax(-1, keepdim=True)
    return (x.float() - (largest + torch.exp(x.float() - largest).sum(-1, keepdim=True).log())).to(x.dtype)


def one_accumulator(x: torch.Tensor) -> torch.Tensor:
    """Each row by one thread, which adds its terms one after the other."""
    shifted = _shifted(x)
    return _less_logarithm(shifted, summed_in_turn(shifted.exp())[:, None], x.dtype)


def lanes_from_minus_infinity(x: torch.Tensor) -> torch.Tensor:
    """Eight lanes with a running maximum that begins with -inf: one that meets -inf first makes NaN of the row."""
    is_lost = x[..., :8].isneginf().any(-1, keepdim=True)
    return torch.where(is_lost, torch.nan, x.float().log_softmax(-1).to(x.dtype))


def no_maximum(x: torch.Tensor) -> torch.Tensor:
    """No maximum is subtracted: large logits overflow."""
    return _less_logarithm(x.float(), torch.exp(x.float()).sum(-1, keepdim=True), x.dtype)


def maximum_of_the_tensor(x: torch.Tensor) -> torch.Tensor:
    """The maximum of the whole tensor is subtracted: the sums of rows far below it become zero."""
    shifted = x.float() - x.float().max()
    return _less_logarithm(shifted, shifted.exp().sum(-1, keepdim=True), x.dtype)


def maximum_forgotten(x: torch.Tensor) -> torch.Tensor:
    """The maximum is subtracted in the exponent, and not from the result."""
    return _less_logarithm(x.float(), _shifted(x).exp().sum(-1, keepdim=True), x.dtype)


def softmax_first(x: torch.Tensor) -> torch.Tensor:
    """The logarithm of the softmax, taken after it: small probabilities become zero."""
    return torch.softmax(x.float(), -1).log().to(x.dtype)


def logarithm_missing(x: torch.Tensor) -> torch.Tensor:
    """The softmax itself."""
    return torch.softmax(x.float(), -1).to(x.dtype)


def in_bits(x: torch.Tensor) -> torch.Tensor:
    """The logarithm of base two."""
    shifted = _shifted(x)
    return (shifted - shifted.exp().sum(-1, keepdim=True).log2()).to(x.dtype)


def mean_in_place_of_the_sum(x: torch.Tensor) -> torch.Tensor:
    """The logarithm of the mean."""
    shifted = _shifted(x)
    return _less_logarithm(shifted, shifted.exp().mean(-1, keepdim=True), x.dtype)


def over_the_rows(x: torch.Tensor) -> torch.Tensor:
    """Over the first axis instead of the last."""
    return torch.log_softmax(x.float(), 0).to(x.dtype)


def last_term_lost(x: torch.Tensor) -> torch.Tensor:
    """The last column does not enter the sum."""
    shifted = _shifted(x)
    total = shifted[:, :-1].exp().sum(-1, keepdim=True)
    return _less_logarithm(shifted, torch.where(total > 0, total, 1), x.dtype)


def tail_lost(x: torch.Tensor) -> torch.Tensor:
    """Columns behind the last whole vector of four do not enter the sum."""
    shifted = _shifted(x)
    total = shifted[:, : x.shape[-1] // 4 * 4 or x.shape[-1]].exp().sum(-1, keepdim=True)
    return _less_logarithm(shifted, torch.where(total > 0, total, 1), x.dtype)


def first_term_twice(x: torch.Tensor) -> torch.Tensor:
    """The first column enters the sum twice, where two blocks overlap."""
    shifted = _shifted(x)
    return _less_logarithm(shifted, shifted.exp().sum(-1, keepdim=True) + shifted[:, :1].exp(), x.dtype)


def never_rescaled(x: torch.Tensor) -> torch.Tensor:
    """Online, but the running sum is not rescaled when a later block raises the maximum."""
    largest = x.new_full((x.shape[0], 1), -math.inf, dtype=torch.float32)
    total = torch.zeros_like(largest)
    for block in x.float().split(max(32, x.shape[-1] // 32), -1):
        largest = torch.maximum(largest, block.amax(-1, keepdim=True))
        total = total + torch.exp(block - largest).sum(-1, keepdim=True)
    return _less_logarithm(x.float() - largest, total, x.dtype)


def half_accumulator(x: torch.Tensor) -> torch.Tensor:
    """The exponentials are summed in bfloat16, by two lanes."""
    shifted = _shifted(x)
    return _less_logarithm(shifted, summed(shifted.exp(), torch.bfloat16, lanes=2).float()[:, None], x.dtype)


def coarse_logarithm(x: torch.Tensor) -> torch.Tensor:
    """float32: the logarithm has ten bits, as of a texture unit."""
    shifted = _shifted(x)
    return shifted - tf32(shifted.exp().sum(-1, keepdim=True).log())


def tf32_inputs(x: torch.Tensor) -> torch.Tensor:
    """float32: the logits pass through a TF32 unit on their way."""
    return torch.log_softmax(tf32(x), -1)


def eps_in_the_logarithm(x: torch.Tensor) -> torch.Tensor:
    """1e-2 is added to the sum against a logarithm of zero."""
    shifted = _shifted(x)
    return _less_logarithm(shifted, shifted.exp().sum(-1, keepdim=True) + 1e-2, x.dtype)


def last_element_unnormalised(x: torch.Tensor) -> torch.Tensor:
    """From the last element no logarithm is subtracted."""
    y = torch.log_softmax(x.float(), -1)
    y[-1, -1] = _shifted(x)[-1, -1]
    return y.to(x.dtype)


def sum_of_the_first_row(x: torch.Tensor) -> torch.Tensor:
    """The last row is normalised by the sum of the first."""
    shifted = _shifted(x)
    total = shifted.exp().sum(-1, keepdim=True)
    return _less_logarithm(shifted, torch.cat((total[:-1], total[:1])), x.dtype)


def maximum_from_a_low_number(x: torch.Tensor) -> torch.Tensor:
    """The running maximum begins with -10,000."""
    maximum = x.float().amax(-1, keepdim=True).clamp_min(-1e4)
    shifted = x.float() - maximum
    return _less_logarithm(shifted, shifted.exp().sum(-1, keepdim=True), x.dtype)


maximum_of_the_tensor.dtypes = ("float32", "bfloat16")
coarse_logarithm.dtypes = tf32_inputs.dtypes = eps_in_the_logarithm.dtypes = ("float32",)

HONEST = (warp_for_a_row, online, base_two, from_logsumexp, one_accumulator)
MUTANTS = (
    no_maximum, maximum_of_the_tensor, maximum_forgotten, softmax_first, logarithm_missing, in_bits,
    mean_in_place_of_the_sum, over_the_rows, last_term_lost, tail_lost, first_term_twice, never_rescaled,
    half_accumulator, coarse_logarithm, tf32_inputs, eps_in_the_logarithm, last_element_unnormalised,
    sum_of_the_first_row,
    lanes_from_minus_infinity,
    tiles_from_minus_infinity,
    maximum_from_a_low_number,
)  # fmt: skip
