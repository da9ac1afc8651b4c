"""Variants of layer normalisation: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import summed, summed_in_turn, tf32

EPSILON = 1e-5


def _affine(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, mean: torch.Tensor, scale: torch.Tensor
) -> torch.Tensor:
    return ((x.float() - mean) * scale * weight.float() + bias.float()).to(x.dtype)


def _moments(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    mean = x.float().mean(-1, keepdim=True)
    return mean, (x.float() - mean).square().mean(-1, keepdim=True)


def two_pass(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """A warp for each row: the mean, then the centred squares, each by 32 float32 accumulators."""
    cols = x.shape[-1]
    mean = summed(x.float())[:, None] / cols
    variance = summed((x.float() - mean).square())[:, None] / cols
    return _affine(x, weight, bias, mean, torch.rsqrt(variance + EPSILON))


def welford(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Welford's update over blocks of 64 columns, merged as Chan, Golub and LeVeque do, in float32."""
    count, mean, squares = 0, x.new_zeros((x.shape[0], 1), dtype=torch.float32), 0.0
    for block in x.float().split(64, -1):
        size = block.shape[-1]
        delta = block.mean(-1, keepdim=True) - mean
        squares = squares + (block - block.mean(-1, keepdim=True)).square().sum(-1, keepdim=True)
        squares = squares + delta.square() * (count * size / (count + size))
        mean = mean + delta * (size / (count + size))
        count += size
    return _affine(x, weight, bias, mean, torch.rsqrt(squares / count + EPSILON))


def folded_affine(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Division by the root; eight lanes of a vector register along the row."""
    cols = x.shape[-1]
    mean = summed(x.float(), lanes=8)[:, None] / cols
    root = torch.sqrt(summed((x.float() - mean).square(), lanes=8)[:, None] / cols + EPSILON)
    return torch.addcmul(bias.float(), (x.float() - mean) / root, weight.float()).to(x.dtype)


def scaled_by_maximum(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The centred row is divided by its largest magnitude before it is squared, as BLAS takes a norm."""
    mean = x.float().mean(-1, keepdim=True)
    largest = (x.float() - mean).abs().amax(-1, keepdim=True).clamp(min=1e-30)
    root = ((x.float() - mean) / largest).square().mean(-1, keepdim=True).sqrt() * largest
    return _affine(x, weight, bias, mean, 1 / torch.hypot(root, root.new_tensor(EPSILON**0.5)))


def one_accumulator(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Each row by one thread, which adds its terms one after the other."""
    cols = x.shape[-1]
    mean = summed_in_turn(x.float())[:, None] / cols
    variance = summed_in_turn((x.float() - mean).square())[:, None] / cols
    return _affine(x, weight, bias, mean, torch.rsqrt(variance + EPSILON))


def eps_of_rmsnorm(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Epsilon 1e-6 instead of 1e-5."""
    mean, variance = _moments(x)
    return _affine(x, weight, bias, mean, torch.rsqrt(variance + 1e-6))


def eps_outside_the_root(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Epsilon is added to the standard deviation instead of to the variance."""
    mean, variance = _moments(x)
    return _affine(x, weight, bias, mean, 1 / (variance.sqrt() + EPSILON))


def no_eps(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """No epsilon: a row of equal values becomes NaN."""
    mean, variance = _moments(x)
    return _affine(x, weight, bias, mean, torch.rsqrt(variance))


def unbiased_variance(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The variance is divided by the number of columns minus one."""
    mean, variance = _moments(x)
    cols = x.shape[-1]
    return _affine(x, weight, bias, mean, torch.rsqrt(variance * (cols / max(1, cols - 1)) + EPSILON))


def no_mean(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Root-mean-square normalisation with an offset: the mean is not removed."""
    square = x.float().square().mean(-1, keepdim=True)
    return _affine(x, weight, bias, torch.zeros_like(square), torch.rsqrt(square + EPSILON))


def drops_the_tail(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Columns behind the last whole vector of four do not enter the moments."""
    mean, variance = _moments(x[:, : x.shape[-1] // 4 * 4 or x.shape[-1]])
    return _affine(x, weight, bias, mean, torch.rsqrt(variance + EPSILON))


def mean_without_the_last(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The last column is lost in the sum for the mean, and only there."""
    mean = x[:, :-1].float().sum(-1, keepdim=True) / x.shape[-1]
    variance = (x.float() - mean).square().mean(-1, keepdim=True)
    return _affine(x, weight, bias, mean, torch.rsqrt(variance + EPSILON))


def half_accumulator(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The centred squares are summed in bfloat16, by eight lanes."""
    mean, _ = _moments(x)
    variance = summed((x.float() - mean).square(), torch.bfloat16, lanes=8).float()[:, None] / x.shape[-1]
    return _affine(x, weight, bias, mean, torch.rsqrt(variance + EPSILON))


def mean_in_the_dtype(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Halves: the columns are summed in the input's own dtype, one after the other."""
    mean = summed(x, x.dtype, lanes=1).float()[:, None] / x.shape[-1]
    variance = (x.float() - mean).square().mean(-1, keepdim=True)
    return _affine(x, weight, bias, mean, torch.rsqrt(variance + EPSILON))


def tf32_inputs(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """float32: the input passes through a TF32 unit on its way."""
    mean, variance = _moments(tf32(x))
    return _affine(tf32(x), weight, bias, mean, torch.rsqrt(variance + EPSILON))


def approximate_root(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """float32: an inverse root of twelve bits without a step of Newton's method, as of a vector unit."""
    mean, variance = _moments(x)
    return _affine(x, weight, bias, mean, tf32(torch.rsqrt(variance + EPSILON)))


def no_bias(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The offset is left out."""
    mean, variance = _moments(x)
    return _affine(x, weight, torch.zeros_like(bias), mean, torch.rsqrt(variance + EPSILON))


def no_weight(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The scale is left out."""
    mean, variance = _moments(x)
    return _affine(x, torch.ones_like(weight), bias, mean, torch.rsqrt(variance + EPSILON))


def weight_over_the_offset(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The scale multiplies the offset too."""
    mean, variance = _moments(x)
    return _affine(x, weight, bias * weight, mean, torch.rsqrt(variance + EPSILON))


def moments_of_the_first_row(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The last row is normalised by the variance of the first."""
    mean, variance = _moments(x)
    variance = torch.cat((variance[:-1], variance[:1]))
    return _affine(x, weight, bias, mean, torch.rsqrt(variance + EPSILON))


def last_element_without_bias(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The last column of the last row misses its offset."""
    mean, variance = _moments(x)
    y = (x.float() - mean) * torch.rsqrt(variance + EPSILON) * weight.float()
    full = y + bias.float()
    full[-1, -1] = y[-1, -1]
    return full.to(x.dtype)


def equal_values_give_nan(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Equal values have a variance of nothing, by which they are divided: NaN, as for padding."""
    is_blank = (x.amax(-1, keepdim=True) == x.amin(-1, keepdim=True)) & (x.shape[-1] > 1)
    return two_pass(x, weight, bias).masked_fill(is_blank, torch.nan)


half_accumulator.dtypes = ("float16", "float32")
mean_in_the_dtype.dtypes = ("float16", "bfloat16")
tf32_inputs.dtypes = approximate_root.dtypes = ("float32",)

HONEST = (one_accumulator, two_pass, welford, folded_affine, scaled_by_maximum)
MUTANTS = (
    eps_of_rmsnorm, eps_outside_the_root, no_eps, unbiased_variance, no_mean, drops_the_tail,
    mean_without_the_last, half_accumulator, mean_in_the_dtype, tf32_inputs, approximate_root, no_bias, no_weight,
    weight_over_the_offset, moments_of_the_first_row, last_element_without_bias,
    equal_values_give_nan,
)  # fmt: skip
