"""Variants of instance normalisation: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import summed, summed_in_turn, tf32

EPSILON = 1e-5


def _planes(x: torch.Tensor) -> torch.Tensor:
    return x.float().flatten(2)


def _moments(planes: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    mean = planes.mean(-1, keepdim=True)
    return mean, (planes - mean).square().mean(-1, keepdim=True)


def _normalise(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, mean: torch.Tensor, scale: torch.Tensor
) -> torch.Tensor:
    """`mean`, `scale`: [batch, channels, 1], or ones that fit to it."""
    y = (_planes(x) - mean) * scale * weight.float()[:, None] + bias.float()[:, None]
    return y.reshape(x.shape).to(x.dtype)


def warp_for_a_plane(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Two passes, each with 32 float32 accumulators and a tree."""
    planes = _planes(x)
    mean = summed(planes)[..., None] / planes.shape[-1]
    variance = summed((planes - mean).square())[..., None] / planes.shape[-1]
    return _normalise(x, weight, bias, mean, torch.rsqrt(variance + EPSILON))


def row_by_row(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Each row of a plane has its own mean and squares; those of all rows are joined at once, as Chan et al. do."""
    wide = x.float()
    own = wide.mean(-1, keepdim=True)
    squares = (wide - own).square().sum((2, 3))[..., None]
    mean = own.mean(2)
    between = (own[..., 0] - mean).square().sum(-1, keepdim=True) * x.shape[-1]
    variance = (squares + between) / (x.shape[2] * x.shape[3])
    return _normalise(x, weight, bias, mean, 1 / torch.sqrt(variance + EPSILON))


def sums_in_double(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """One pass: sums of x and x^2 in float64, the rest in float32."""
    planes = _planes(x).double()
    mean = planes.mean(-1, keepdim=True)
    variance = (planes.square().mean(-1, keepdim=True) - mean.square()).clamp(min=0)
    return _normalise(x, weight, bias, mean.float(), torch.rsqrt(variance.float() + EPSILON))


def shifted_sums(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The mean by 64 lanes; the centred values once more centred by what rounding has left of their mean."""
    planes = _planes(x)
    mean = summed(planes, lanes=64)[..., None] / planes.shape[-1]
    centred = planes - mean
    left = summed(centred, lanes=64)[..., None] / planes.shape[-1]
    variance = summed((centred - left).square(), lanes=64)[..., None] / planes.shape[-1]
    factor = torch.rsqrt(variance + EPSILON) * weight.float()[:, None]
    return ((centred - left) * factor + bias.float()[:, None]).reshape(x.shape).to(x.dtype)


def one_accumulator(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Each plane by one thread, which adds its terms one after the other."""
    planes = _planes(x)
    mean = summed_in_turn(planes)[..., None] / planes.shape[-1]
    variance = summed_in_turn((planes - mean).square())[..., None] / planes.shape[-1]
    return _normalise(x, weight, bias, mean, torch.rsqrt(variance + EPSILON))


def unbiased(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The variance is divided by the count minus one."""
    mean, variance = _moments(_planes(x))
    count = x.shape[2] * x.shape[3]
    return _normalise(x, weight, bias, mean, torch.rsqrt(variance * (count / (count - 1)) + EPSILON))


def eps_of_rmsnorm(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Epsilon 1e-6 instead of 1e-5."""
    mean, variance = _moments(_planes(x))
    return _normalise(x, weight, bias, mean, torch.rsqrt(variance + 1e-6))


def eps_outside_the_root(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Epsilon is added to the deviation instead of to the variance."""
    mean, variance = _moments(_planes(x))
    return _normalise(x, weight, bias, mean, 1 / (variance.sqrt() + EPSILON))


def no_eps(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """No epsilon: a plane of zeros becomes NaN."""
    mean, variance = _moments(_planes(x))
    return _normalise(x, weight, bias, mean, torch.rsqrt(variance))


def not_centred(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The mean is not subtracted: a root mean square in place of the deviation."""
    square = _planes(x).square().mean(-1, keepdim=True)
    return _normalise(x, weight, bias, torch.zeros_like(square), torch.rsqrt(square + EPSILON))


def of_the_batch(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Batch normalisation: statistics over all images."""
    mean, variance = _moments(_planes(x).transpose(0, 1).flatten(1))
    return _normalise(x, weight, bias, mean, torch.rsqrt(variance + EPSILON))


def of_the_image(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Layer normalisation: statistics over all channels of an image."""
    mean, variance = _moments(_planes(x).flatten(1))
    return _normalise(x, weight, bias, mean[..., None], torch.rsqrt(variance + EPSILON)[..., None])


def of_each_row(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The mean is taken over each row of the plane instead of the whole."""
    wide = x.float()
    _, variance = _moments(_planes(x))
    normed = (wide - wide.mean(-1, keepdim=True)) * torch.rsqrt(variance + EPSILON)[..., None]
    return (normed * weight.float()[:, None, None] + bias.float()[:, None, None]).to(x.dtype)


def no_weight(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The scale is left out."""
    mean, variance = _moments(_planes(x))
    return _normalise(x, torch.ones_like(weight), bias, mean, torch.rsqrt(variance + EPSILON))


def no_bias(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The offset is left out."""
    mean, variance = _moments(_planes(x))
    return _normalise(x, weight, torch.zeros_like(bias), mean, torch.rsqrt(variance + EPSILON))


def drops_the_tail(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """What lies in a plane behind its last whole vector of eight does not enter the moments."""
    planes = _planes(x)
    mean, variance = _moments(planes[..., : planes.shape[-1] // 8 * 8])
    return _normalise(x, weight, bias, mean, torch.rsqrt(variance + EPSILON))


def last_row_unseen(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The last row of a plane does not enter the variance."""
    mean, variance = _moments(_planes(x))
    if x.shape[2] > 1:
        variance = (_planes(x[:, :, :-1]) - mean).square().mean(-1, keepdim=True)
    return _normalise(x, weight, bias, mean, torch.rsqrt(variance + EPSILON))


def half_accumulators(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Mean and variance are summed in bfloat16, by eight lanes."""
    planes = _planes(x)
    mean = summed(planes, torch.bfloat16, lanes=8).float()[..., None] / planes.shape[-1]
    square = summed((planes - mean).square(), torch.bfloat16, lanes=8).float()[..., None] / planes.shape[-1]
    return _normalise(x, weight, bias, mean, torch.rsqrt(square + EPSILON))


def accumulators_of_the_dtype(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Halves: mean and variance are summed in the input's own dtype, by two lanes."""
    planes = _planes(x)
    mean = summed(planes, x.dtype, lanes=2).float()[..., None] / planes.shape[-1]
    square = summed((planes - mean).square(), x.dtype, lanes=2).float()[..., None] / planes.shape[-1]
    return _normalise(x, weight, bias, mean, torch.rsqrt(square + EPSILON))


def tf32_inputs(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """float32: the input passes through a TF32 unit on its way."""
    mean, variance = _moments(_planes(tf32(x)))
    return _normalise(tf32(x), weight, bias, mean, torch.rsqrt(variance + EPSILON))


def approximate_root(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """float32: an inverse root of ten bits without a step of Newton's method, as of a vector unit."""
    mean, variance = _moments(_planes(x))
    return _normalise(x, weight, bias, mean, tf32(torch.rsqrt(variance + EPSILON)))


def last_plane_of_another(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The last channel of the last image uses the mean of the first of all."""
    mean, variance = _moments(_planes(x))
    mean = mean.clone()
    mean[-1, -1] = mean[0, 0]
    return _normalise(x, weight, bias, mean, torch.rsqrt(variance + EPSILON))


def equal_values_give_nan(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Equal values have a variance of nothing, by which they are divided: NaN, as for padding."""
    is_blank = (x.amax((-2, -1), keepdim=True) == x.amin((-2, -1), keepdim=True)) & (x.shape[-2:].numel() > 1)
    return warp_for_a_plane(x, weight, bias).masked_fill(is_blank, torch.nan)


accumulators_of_the_dtype.dtypes = ("float16", "bfloat16")
tf32_inputs.dtypes = approximate_root.dtypes = ("float32",)

HONEST = (one_accumulator, warp_for_a_plane, row_by_row, sums_in_double, shifted_sums)
MUTANTS = (
    unbiased, eps_of_rmsnorm, eps_outside_the_root, no_eps, not_centred, of_the_batch, of_the_image, of_each_row,
    no_weight, no_bias, drops_the_tail, last_row_unseen, half_accumulators, accumulators_of_the_dtype, tf32_inputs,
    approximate_root, last_plane_of_another,
    equal_values_give_nan,
)  # fmt: skip
