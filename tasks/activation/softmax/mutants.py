"""Variants of softmax: honest ones that must pass and wrong ones that must fail."""

import math

import torch

from robust_kbench.audit.emulated import summed, summed_in_turn, tf32
from robust_kbench.oracle.digits import rounded

LOG2_E = 1.4426950408889634


def _exponential(x: torch.Tensor) -> torch.Tensor:
    return torch.exp(x.float() - x.float().amax(-1, keepdim=True))


def _normalise(exponential: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    return (exponential / exponential.sum(-1, keepdim=True)).to(dtype)


def _taylor(x: torch.Tensor, degree: int) -> torch.Tensor:
    """Exponentials of float32 `x` up to zero: a power of two times a polynomial of a fraction within half of ln(2)."""
    bounded = x.clamp(min=-97.0)  # below, exp is less than the smallest normal number
    whole = (bounded * LOG2_E).round()
    fraction = torch.addcmul(bounded, whole, x.new_tensor(-0.693359375)) - whole * -2.12194440e-4
    series = torch.ones_like(x)
    for power in range(degree, 0, -1):
        series = 1 + fraction / power * series
    return torch.where(x < -97.0, 0.0, torch.ldexp(series, whole))


def online(x: torch.Tensor) -> torch.Tensor:
    """One pass over blocks of 128 columns that rescales the running sum (Milakov and Gimelshein 2018), in float32."""
    return _online_from(torch.finfo(torch.float32).min, x)


def _online_from(least: float, x: torch.Tensor) -> torch.Tensor:
    largest = x.new_full((x.shape[0], 1), least, dtype=torch.float32)
    total = torch.zeros_like(largest)
    for block in x.float().split(128, -1):
        new = torch.maximum(largest, block.amax(-1, keepdim=True))
        total = total * torch.exp(largest - new) + torch.exp(block - new).sum(-1, keepdim=True)
        largest = new
    return (torch.exp(x.float() - largest) / total).to(x.dtype)


def tiles_from_minus_infinity(x: torch.Tensor) -> torch.Tensor:
    """Online, with -inf as the first maximum: NaN where a whole block at the beginning of a row is masked."""
    return _online_from(-float("inf"), x)


def base_two(x: torch.Tensor) -> torch.Tensor:
    """exp2 of a rescaled difference, a warp's 32 accumulators, and one reciprocal for each row."""
    exponential = torch.exp2((x.float() - x.float().amax(-1, keepdim=True)) * LOG2_E)
    return (exponential * (1 / summed(exponential)[:, None])).to(x.dtype)


def through_the_logarithm(x: torch.Tensor) -> torch.Tensor:
    """exp(x - max - log(sum)), with the three terms near zero subtracted first."""
    shifted = x.float() - x.float().amax(-1, keepdim=True)
    return torch.exp(shifted - shifted.exp().sum(-1, keepdim=True).log()).to(x.dtype)


def polynomial(x: torch.Tensor) -> torch.Tensor:
    """An exponential of two units in the last place: a Taylor polynomial of degree 6 for the fraction."""
    return _normalise(_taylor(x.float() - x.float().amax(-1, keepdim=True), 6), x.dtype)


def one_accumulator(x: torch.Tensor) -> torch.Tensor:
    """Each row by one thread, which adds its terms one after the other."""
    exponential = _exponential(x)
    return (exponential / summed_in_turn(exponential)[:, None]).to(x.dtype)


def lanes_from_minus_infinity(x: torch.Tensor) -> torch.Tensor:
    """Eight lanes with a running maximum that begins with -inf: one that meets -inf first makes NaN of the row."""
    is_lost = x[..., :8].isneginf().any(-1, keepdim=True)
    return torch.where(is_lost, torch.nan, x.float().softmax(-1).to(x.dtype))


def no_maximum(x: torch.Tensor) -> torch.Tensor:
    """No maximum is subtracted: large logits overflow."""
    return _normalise(torch.exp(x.float()), x.dtype)


def maximum_of_the_tensor(x: torch.Tensor) -> torch.Tensor:
    """The maximum of the whole tensor is subtracted: rows far below it become 0 / 0."""
    return _normalise(torch.exp(x.float() - x.float().max()), x.dtype)


def maximum_of_the_first_block(x: torch.Tensor) -> torch.Tensor:
    """The maximum of the first 32 columns alone, clipped so that nothing overflows."""
    shifted = x.float() - x[:, :32].float().amax(-1, keepdim=True)
    return _normalise(torch.exp(shifted.clamp(max=2.0)), x.dtype)


def base_two_unscaled(x: torch.Tensor) -> torch.Tensor:
    """Powers of two instead of e."""
    return _normalise(torch.exp2(x.float() - x.float().amax(-1, keepdim=True)), x.dtype)


def over_the_rows(x: torch.Tensor) -> torch.Tensor:
    """Over the first axis instead of the last."""
    return _normalise(_exponential(x.T), x.dtype).T.contiguous()


def sums_one_less(x: torch.Tensor) -> torch.Tensor:
    """The last column does not enter the sum."""
    exponential = _exponential(x)
    total = exponential[:, :-1].sum(-1, keepdim=True)
    return (exponential / torch.where(total > 0, total, 1)).to(x.dtype)


def drops_the_tail(x: torch.Tensor) -> torch.Tensor:
    """Columns behind the last whole vector of four do not enter the sum."""
    exponential = _exponential(x)
    whole = x.shape[-1] // 4 * 4 or x.shape[-1]
    total = exponential[:, :whole].sum(-1, keepdim=True)
    return (exponential / torch.where(total > 0, total, 1)).to(x.dtype)


def sums_one_twice(x: torch.Tensor) -> torch.Tensor:
    """The first column enters the sum twice, where two blocks overlap."""
    exponential = _exponential(x)
    return (exponential / (exponential.sum(-1, keepdim=True) + exponential[:, :1])).to(x.dtype)


def never_rescaled(x: torch.Tensor) -> torch.Tensor:
    """Online, but the running sum is not rescaled when a later block of 32 raises the maximum."""
    largest = x.new_full((x.shape[0], 1), float("-inf"), dtype=torch.float32)
    total = torch.zeros_like(largest)
    for block in x.float().split(32, -1):
        largest = torch.maximum(largest, block.amax(-1, keepdim=True))
        total = total + torch.exp(block - largest).sum(-1, keepdim=True)
    return (torch.exp(x.float() - largest) / total).to(x.dtype)


def half_accumulator(x: torch.Tensor) -> torch.Tensor:
    """The exponentials are summed in bfloat16, by eight lanes."""
    exponential = _exponential(x)
    return (exponential / summed(exponential, torch.bfloat16, lanes=8).float()[:, None]).to(x.dtype)


def accumulator_of_the_dtype(x: torch.Tensor) -> torch.Tensor:
    """Halves: the exponentials are summed in the input's own dtype, by two lanes."""
    exponential = _exponential(x)
    return (exponential / summed(exponential, x.dtype, lanes=2).float()[:, None]).to(x.dtype)


def short_polynomial(x: torch.Tensor) -> torch.Tensor:
    """float32: the polynomial of the exponential ends at degree 4, with a relative error of 4e-5."""
    return _normalise(_taylor(x - x.amax(-1, keepdim=True), 4), x.dtype)


def tf32_inputs(x: torch.Tensor) -> torch.Tensor:
    """float32: the logits pass through a TF32 unit on their way."""
    return _normalise(_exponential(tf32(x)), x.dtype)


def coarse_reciprocal(x: torch.Tensor) -> torch.Tensor:
    """float32: a reciprocal of ten bits without a step of Newton's method, as of a vector unit."""
    exponential = _exponential(x)
    return exponential * tf32(1 / exponential.sum(-1, keepdim=True))


def eps_in_the_denominator(x: torch.Tensor) -> torch.Tensor:
    """1e-2 is added to the sum against a division by zero that cannot happen."""
    exponential = _exponential(x)
    return (exponential / (exponential.sum(-1, keepdim=True) + 1e-2)).to(x.dtype)


def flushes_small(x: torch.Tensor) -> torch.Tensor:
    """Probabilities below 1e-3 of the row's largest are written as zero."""
    exponential = _exponential(x)
    return _normalise(torch.where(exponential < 1e-3, 0.0, exponential), x.dtype)


def last_element_unnormalised(x: torch.Tensor) -> torch.Tensor:
    """The last element misses the division."""
    exponential = _exponential(x)
    y = exponential / exponential.sum(-1, keepdim=True)
    y[-1, -1] = exponential[-1, -1]
    return y.to(x.dtype)


def sum_of_the_first_row(x: torch.Tensor) -> torch.Tensor:
    """The last row is divided by the sum of the first."""
    exponential = _exponential(x)
    total = exponential.sum(-1, keepdim=True)
    return (exponential / torch.cat((total[:-1], total[:1]))).to(x.dtype)


def coarse_exponential(x: torch.Tensor) -> torch.Tensor:
    """Exponentials have as many binary digits as the limits of the dtype and the row's length leave."""
    shifted = x.float() - x.float().amax(-1, keepdim=True)
    digits = int(22 - math.log2(1 + 8 * math.sqrt(x.shape[-1])))
    exponential = rounded(shifted.exp(), digits)
    return (exponential / exponential.sum(-1, keepdim=True)).to(x.dtype)


def maximum_from_a_low_number(x: torch.Tensor) -> torch.Tensor:
    """The running maximum begins with -10,000."""
    maximum = x.float().amax(-1, keepdim=True).clamp_min(-1e4)
    exponential = (x.float() - maximum).exp()
    return (exponential / exponential.sum(-1, keepdim=True)).to(x.dtype)


coarse_exponential.dtypes = ("float32",)
half_accumulator.dtypes = ("float16", "float32")
accumulator_of_the_dtype.dtypes = ("float16", "bfloat16")
short_polynomial.dtypes = tf32_inputs.dtypes = coarse_reciprocal.dtypes = ("float32",)

HONEST = (online, base_two, through_the_logarithm, polynomial, one_accumulator)
MUTANTS = (
    no_maximum, maximum_of_the_tensor, maximum_of_the_first_block, base_two_unscaled, over_the_rows, sums_one_less,
    drops_the_tail, sums_one_twice, never_rescaled, half_accumulator, accumulator_of_the_dtype, short_polynomial,
    tf32_inputs, coarse_reciprocal, eps_in_the_denominator, flushes_small, last_element_unnormalised,
    sum_of_the_first_row,
    coarse_exponential,
    lanes_from_minus_infinity,
    tiles_from_minus_infinity,
    maximum_from_a_low_number,
)  # fmt: skip
