"""Variants of batch normalisation at inference: honest ones that must pass and wrong ones that must fail."""

import torch
from torch import Tensor

from robust_kbench.audit.emulated import tf32

EPSILON = 1e-5


def _wide(parameter: Tensor) -> Tensor:
    return parameter.float()[:, None, None]


def _scale(running_var: Tensor, epsilon: float = EPSILON) -> Tensor:
    return torch.rsqrt(_wide(running_var) + epsilon)


def _normalise(x: Tensor, weight: Tensor, bias: Tensor, running_mean: Tensor, scale: Tensor) -> Tensor:
    return ((x.float() - _wide(running_mean)) * scale * _wide(weight) + _wide(bias)).to(x.dtype)


def as_written(x: Tensor, weight: Tensor, bias: Tensor, running_mean: Tensor, running_var: Tensor) -> Tensor:
    """The formula in float32, with a division by the root."""
    root = torch.sqrt(_wide(running_var) + EPSILON)
    return ((x.float() - _wide(running_mean)) / root * _wide(weight) + _wide(bias)).to(x.dtype)


def folded(x: Tensor, weight: Tensor, bias: Tensor, running_mean: Tensor, running_var: Tensor) -> Tensor:
    """One factor and one offset for each channel, made before."""
    factor = _wide(weight) * _scale(running_var)
    return (x.float() * factor + (_wide(bias) - _wide(running_mean) * factor)).to(x.dtype)


def folded_and_fused(x: Tensor, weight: Tensor, bias: Tensor, running_mean: Tensor, running_var: Tensor) -> Tensor:
    """Factor and offset with fused multiplications and additions, each of which rounds once."""
    factor = _scale(running_var) * _wide(weight)
    offset = (_wide(bias).double() - _wide(running_mean).double() * factor.double()).float()
    return (x.double() * factor.double() + offset.double()).float().to(x.dtype)


def factor_first(x: Tensor, weight: Tensor, bias: Tensor, running_mean: Tensor, running_var: Tensor) -> Tensor:
    """The mean is subtracted, then one multiplication by a factor made before."""
    factor = _wide(weight) / torch.sqrt(_wide(running_var) + EPSILON)
    return ((x.float() - _wide(running_mean)) * factor + _wide(bias)).to(x.dtype)


def no_eps(x: Tensor, weight: Tensor, bias: Tensor, running_mean: Tensor, running_var: Tensor) -> Tensor:
    """float32: no epsilon."""
    return _normalise(x, weight, bias, running_mean, _scale(running_var, 0.0))


def eps_outside_the_root(x: Tensor, weight: Tensor, bias: Tensor, running_mean: Tensor, running_var: Tensor) -> Tensor:
    """float32: epsilon is added to the root instead of under it."""
    return _normalise(x, weight, bias, running_mean, 1 / (_wide(running_var).sqrt() + EPSILON))


def eps_of_another(x: Tensor, weight: Tensor, bias: Tensor, running_mean: Tensor, running_var: Tensor) -> Tensor:
    """float32: epsilon 1e-3, the default of another framework."""
    return _normalise(x, weight, bias, running_mean, _scale(running_var, 1e-3))


def no_root(x: Tensor, weight: Tensor, bias: Tensor, running_mean: Tensor, running_var: Tensor) -> Tensor:
    """Divided by the variance instead of by its root."""
    return _normalise(x, weight, bias, running_mean, 1 / (_wide(running_var) + EPSILON))


def multiplied_by_the_root(
    x: Tensor, weight: Tensor, bias: Tensor, running_mean: Tensor, running_var: Tensor
) -> Tensor:
    """Multiplied by the deviation instead of divided by it."""
    return _normalise(x, weight, bias, running_mean, torch.sqrt(_wide(running_var) + EPSILON))


def mean_not_removed(x: Tensor, weight: Tensor, bias: Tensor, running_mean: Tensor, running_var: Tensor) -> Tensor:
    """The mean is not subtracted."""
    return _normalise(x, weight, bias, torch.zeros_like(running_mean), _scale(running_var))


def mean_added(x: Tensor, weight: Tensor, bias: Tensor, running_mean: Tensor, running_var: Tensor) -> Tensor:
    """The folded offset has the wrong sign before the mean."""
    return _normalise(x, weight, bias, -running_mean, _scale(running_var))


def statistics_of_the_batch(
    x: Tensor, weight: Tensor, bias: Tensor, running_mean: Tensor, running_var: Tensor
) -> Tensor:
    """As in training: mean and variance of the batch itself."""
    mean = x.float().mean((0, 2, 3))
    variance = (x.float() - mean[:, None, None]).square().mean((0, 2, 3))
    return _normalise(x, weight, bias, mean, _scale(variance))


def no_weight(x: Tensor, weight: Tensor, bias: Tensor, running_mean: Tensor, running_var: Tensor) -> Tensor:
    """The scale is left out."""
    return _normalise(x, torch.ones_like(weight), bias, running_mean, _scale(running_var))


def no_bias(x: Tensor, weight: Tensor, bias: Tensor, running_mean: Tensor, running_var: Tensor) -> Tensor:
    """The offset is left out."""
    return _normalise(x, weight, torch.zeros_like(bias), running_mean, _scale(running_var))


def weight_over_the_offset(
    x: Tensor, weight: Tensor, bias: Tensor, running_mean: Tensor, running_var: Tensor
) -> Tensor:
    """The scale multiplies the offset too."""
    return _normalise(x, weight, bias.float() * weight.float(), running_mean, _scale(running_var))


def next_channel(x: Tensor, weight: Tensor, bias: Tensor, running_mean: Tensor, running_var: Tensor) -> Tensor:
    """Weights are read one channel too far."""
    return _normalise(x, weight.roll(-1, 0), bias, running_mean, _scale(running_var))


def channels_innermost(x: Tensor, weight: Tensor, bias: Tensor, running_mean: Tensor, running_var: Tensor) -> Tensor:
    """The offset's channel is counted along the columns, as in an image with its channels innermost."""
    y = _normalise(x, weight, torch.zeros_like(bias), running_mean, _scale(running_var)).float()
    return (y + bias.float()[torch.arange(x.shape[-1]) % len(bias)]).to(x.dtype)


def last_channel_of_the_first(
    x: Tensor, weight: Tensor, bias: Tensor, running_mean: Tensor, running_var: Tensor
) -> Tensor:
    """The last channel is divided by the deviation of the first."""
    variance = torch.cat((running_var[:-1], running_var[:1]))
    return _normalise(x, weight, bias, running_mean, _scale(variance))


def tail_passed_on(x: Tensor, weight: Tensor, bias: Tensor, running_mean: Tensor, running_var: Tensor) -> Tensor:
    """What lies in a plane behind its last whole vector of four is passed on as it is."""
    y = _normalise(x, weight, bias, running_mean, _scale(running_var)).flatten(2)
    whole = y.shape[-1] // 4 * 4
    return torch.cat((y[..., :whole], x.flatten(2)[..., whole:]), -1).reshape(x.shape)


def factors_in_bfloat16(x: Tensor, weight: Tensor, bias: Tensor, running_mean: Tensor, running_var: Tensor) -> Tensor:
    """Factor and offset of a channel are kept in bfloat16."""
    factor = _wide(weight) * _scale(running_var)
    offset = (_wide(bias) - _wide(running_mean) * factor).bfloat16().float()
    return (x.float() * factor.bfloat16().float() + offset).to(x.dtype)


def tf32_inputs(x: Tensor, weight: Tensor, bias: Tensor, running_mean: Tensor, running_var: Tensor) -> Tensor:
    """float32: the input passes through a TF32 unit on its way."""
    return _normalise(tf32(x), weight, bias, running_mean, _scale(running_var))


def approximate_root(x: Tensor, weight: Tensor, bias: Tensor, running_mean: Tensor, running_var: Tensor) -> Tensor:
    """float32: an inverse root of ten bits without a step of Newton's method, as of a vector unit."""
    return _normalise(x, weight, bias, running_mean, tf32(_scale(running_var)))


def last_element_without_bias(
    x: Tensor, weight: Tensor, bias: Tensor, running_mean: Tensor, running_var: Tensor
) -> Tensor:
    """The very last element misses its offset."""
    y = _normalise(x, weight, bias, running_mean, _scale(running_var))
    y[-1, -1, -1, -1] -= bias[-1]
    return y


def variances_from_a_hundredth(
    x: Tensor, weight: Tensor, bias: Tensor, running_mean: Tensor, running_var: Tensor
) -> Tensor:
    """Smaller variances, as of dead channels, are raised."""
    return as_written(x, weight, bias, running_mean, running_var.clamp(min=0.01))


def dead_channels_are_the_offset(
    x: Tensor, weight: Tensor, bias: Tensor, running_mean: Tensor, running_var: Tensor
) -> Tensor:
    """What has never varied is taken not to vary."""
    y = as_written(x, weight, bias, running_mean, running_var)
    return torch.where(running_var[:, None, None] > 0, y, bias[:, None, None])


no_eps.dtypes = eps_outside_the_root.dtypes = eps_of_another.dtypes = ("float32",)
tf32_inputs.dtypes = approximate_root.dtypes = ("float32",)
factors_in_bfloat16.dtypes = ("float32", "float16")

HONEST = (as_written, folded, folded_and_fused, factor_first)
MUTANTS = (
    no_eps, eps_outside_the_root, eps_of_another, no_root, multiplied_by_the_root, mean_not_removed, mean_added,
    statistics_of_the_batch, no_weight, no_bias, weight_over_the_offset, next_channel, channels_innermost,
    last_channel_of_the_first, tail_passed_on, factors_in_bfloat16, tf32_inputs, approximate_root,
    last_element_without_bias,
    variances_from_a_hundredth, dead_channels_are_the_offset,
)  # fmt: skip
