"""Variants of convolution, normalisation and mean: honest ones that must pass and wrong ones that must fail."""

import torch
from torch import Tensor
from torch.nn.functional import conv3d

from robust_kbench.audit.emulated import multiplied, summed, tf32

EPSILON = 1e-5


def _convolved(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """By the library, in float32."""
    return conv3d(x.float(), weight.float(), bias.float())


def _columns(x: Tensor) -> Tensor:
    """[batch, places, channels * 27]: one row of factors for each place, in float32."""
    windows = x.float()
    for dim in (2, 3, 4):
        windows = windows.unfold(dim, 3, 1)
    return windows.permute(0, 2, 3, 4, 1, 5, 6, 7).flatten(4).flatten(1, 3)


def _groups(z: Tensor, num_groups: int) -> Tensor:
    """[batch, groups, values of a group] in float32."""
    return z.float().reshape(len(z), num_groups, -1)


def _normed(groups: Tensor, epsilon: float = EPSILON) -> Tensor:
    """Two passes, without scale and offset."""
    centred = groups - groups.mean(-1, keepdim=True)
    return centred * torch.rsqrt(centred.square().mean(-1, keepdim=True) + epsilon)


def _scaled(normed: Tensor, gamma: Tensor, beta: Tensor) -> Tensor:
    """[batch, filters, places] in float32."""
    return normed.reshape(len(normed), len(gamma), -1) * gamma.float()[:, None] + beta.float()[:, None]


def _mean(normed: Tensor, gamma: Tensor, beta: Tensor) -> Tensor:
    """[batch], in the parameters' dtype."""
    return _scaled(normed, gamma, beta).mean((1, 2)).to(gamma.dtype)


def implicit_gemm(x: Tensor, weight: Tensor, bias: Tensor, num_groups: int, gamma: Tensor, beta: Tensor) -> Tensor:
    """Sixteen terms at a time into float32 accumulators; moments and the mean by 128 lanes each."""
    z = multiplied(_columns(x), weight.flatten(1).T) + bias.float()
    groups = _groups(z.transpose(1, 2), num_groups)
    centred = groups - (summed(groups, lanes=128) / groups.shape[-1])[..., None]
    variance = (summed(centred.square(), lanes=128) / groups.shape[-1])[..., None]
    scaled = _scaled(centred / torch.sqrt(variance + EPSILON), gamma, beta)
    return (summed(scaled.flatten(1), lanes=128) / scaled[0].numel()).to(x.dtype)


def means_of_filters(x: Tensor, weight: Tensor, bias: Tensor, num_groups: int, gamma: Tensor, beta: Tensor) -> Tensor:
    """Only the moments are taken from the values; what they leave of a filter is its mean."""
    z = _convolved(x, weight, bias).flatten(2)
    means = z.mean(2).unflatten(1, (num_groups, -1))
    mean = means.mean(2, keepdim=True)
    variance = (z.unflatten(1, (num_groups, -1)) - mean[..., None]).square().mean((2, 3))[..., None]
    left = ((means - mean) * torch.rsqrt(variance + EPSILON)).flatten(1)
    return (left * gamma.float() + beta.float()).mean(1).to(x.dtype)


def two_kernels(x: Tensor, weight: Tensor, bias: Tensor, num_groups: int, gamma: Tensor, beta: Tensor) -> Tensor:
    """The convolution is stored in the task's dtype before it is normalised."""
    z = _convolved(x, weight, bias).to(x.dtype)
    return _mean(_normed(_groups(z, num_groups)), gamma, beta)


def three_kernels(x: Tensor, weight: Tensor, bias: Tensor, num_groups: int, gamma: Tensor, beta: Tensor) -> Tensor:
    """The convolution and the normalised values are each stored in the task's dtype; a warp for each mean."""
    scaled = _scaled(_normed(_groups(_convolved(x, weight, bias), num_groups).to(x.dtype).float()), gamma, beta).to(
        x.dtype
    )
    return (summed(scaled.float().flatten(1)) / scaled[0].numel()).to(x.dtype)


def in_double(x: Tensor, weight: Tensor, bias: Tensor, num_groups: int, gamma: Tensor, beta: Tensor) -> Tensor:
    """float64 all the way, rounded once."""
    groups = conv3d(x.double(), weight.double(), bias.double()).reshape(len(x), num_groups, -1)
    centred = groups - groups.mean(-1, keepdim=True)
    normed = (centred / torch.sqrt(centred.square().mean(-1, keepdim=True) + EPSILON)).reshape(len(x), len(gamma), -1)
    return (normed.mean(-1) * gamma.double() + beta.double()).mean(1).to(x.dtype)


def tf32_inputs(x: Tensor, weight: Tensor, bias: Tensor, num_groups: int, gamma: Tensor, beta: Tensor) -> Tensor:
    """float32: the library's default, factors rounded to TF32."""
    return _mean(_normed(_groups(_convolved(tf32(x), tf32(weight), bias), num_groups)), gamma, beta)


def half_sum(x: Tensor, weight: Tensor, bias: Tensor, num_groups: int, gamma: Tensor, beta: Tensor) -> Tensor:
    """The mean is summed in the next lower class, by eight lanes."""
    lower = torch.bfloat16 if x.dtype == torch.float32 else x.dtype
    scaled = _scaled(_normed(_groups(_convolved(x, weight, bias), num_groups)), gamma, beta).flatten(1)
    return (summed(scaled, lower, lanes=8).float() / scaled.shape[1]).to(x.dtype)


def moments_in_bfloat16(
    x: Tensor, weight: Tensor, bias: Tensor, num_groups: int, gamma: Tensor, beta: Tensor
) -> Tensor:
    """float32: mean and squares are summed in bfloat16, by 64 lanes."""
    groups = _groups(_convolved(x, weight, bias), num_groups)
    centred = groups - summed(groups, torch.bfloat16, lanes=64).float()[..., None] / groups.shape[-1]
    variance = summed(centred.square(), torch.bfloat16, lanes=64).float()[..., None] / groups.shape[-1]
    return _mean(centred * torch.rsqrt(variance + EPSILON), gamma, beta)


def eps_of_another(x: Tensor, weight: Tensor, bias: Tensor, num_groups: int, gamma: Tensor, beta: Tensor) -> Tensor:
    """float32: epsilon 1e-3, the default of another framework."""
    return _mean(_normed(_groups(_convolved(x, weight, bias), num_groups), 1e-3), gamma, beta)


def unbiased(x: Tensor, weight: Tensor, bias: Tensor, num_groups: int, gamma: Tensor, beta: Tensor) -> Tensor:
    """The variance is divided by the count minus one."""
    groups = _groups(_convolved(x, weight, bias), num_groups)
    return _mean(_normed(groups) * (1 - 1 / groups.shape[-1]) ** 0.5, gamma, beta)


def not_centred(x: Tensor, weight: Tensor, bias: Tensor, num_groups: int, gamma: Tensor, beta: Tensor) -> Tensor:
    """The mean is not subtracted: a root mean square in place of the deviation."""
    groups = _groups(_convolved(x, weight, bias), num_groups)
    return _mean(groups * torch.rsqrt(groups.square().mean(-1, keepdim=True) + EPSILON), gamma, beta)


def each_filter_alone(x: Tensor, weight: Tensor, bias: Tensor, num_groups: int, gamma: Tensor, beta: Tensor) -> Tensor:
    """Instance normalisation: every filter is a group, of which only the offsets' mean is left."""
    return _mean(_normed(_groups(_convolved(x, weight, bias), len(gamma))), gamma, beta)


def one_group(x: Tensor, weight: Tensor, bias: Tensor, num_groups: int, gamma: Tensor, beta: Tensor) -> Tensor:
    """All filters are one group."""
    return _mean(_normed(_groups(_convolved(x, weight, bias), 1)), gamma, beta)


def offsets_alone(x: Tensor, weight: Tensor, bias: Tensor, num_groups: int, gamma: Tensor, beta: Tensor) -> Tensor:
    """The mean of the offsets, as if normalised values had a mean of zero in each filter."""
    return beta.float().mean().expand(len(x)).to(x.dtype).contiguous()


def no_bias(x: Tensor, weight: Tensor, bias: Tensor, num_groups: int, gamma: Tensor, beta: Tensor) -> Tensor:
    """The bias is left out."""
    return _mean(_normed(_groups(_convolved(x, weight, torch.zeros_like(bias)), num_groups)), gamma, beta)


def no_gamma(x: Tensor, weight: Tensor, bias: Tensor, num_groups: int, gamma: Tensor, beta: Tensor) -> Tensor:
    """The scale is left out."""
    return _mean(_normed(_groups(_convolved(x, weight, bias), num_groups)), torch.ones_like(gamma), beta)


def no_beta(x: Tensor, weight: Tensor, bias: Tensor, num_groups: int, gamma: Tensor, beta: Tensor) -> Tensor:
    """The offset is left out."""
    return _mean(_normed(_groups(_convolved(x, weight, bias), num_groups)), gamma, torch.zeros_like(beta))


def scale_of_a_group(x: Tensor, weight: Tensor, bias: Tensor, num_groups: int, gamma: Tensor, beta: Tensor) -> Tensor:
    """All filters of a group are scaled as its first one."""
    first = gamma.reshape(num_groups, -1)[:, :1].expand(-1, len(gamma) // num_groups)
    return _mean(_normed(_groups(_convolved(x, weight, bias), num_groups)), first.reshape(-1), beta)


def last_place_lost(x: Tensor, weight: Tensor, bias: Tensor, num_groups: int, gamma: Tensor, beta: Tensor) -> Tensor:
    """The last place of all is left out of the sum."""
    scaled = _scaled(_normed(_groups(_convolved(x, weight, bias), num_groups)), gamma, beta).flatten(1)
    return (scaled[:, :-1].sum(1) / scaled.shape[1]).to(x.dtype)


def last_filter_lost(x: Tensor, weight: Tensor, bias: Tensor, num_groups: int, gamma: Tensor, beta: Tensor) -> Tensor:
    """The last filter is left out of the sum."""
    scaled = _scaled(_normed(_groups(_convolved(x, weight, bias), num_groups)), gamma, beta)
    return (scaled[:, :-1].sum((1, 2)) / scaled[0].numel()).to(x.dtype)


def sum_of_places(x: Tensor, weight: Tensor, bias: Tensor, num_groups: int, gamma: Tensor, beta: Tensor) -> Tensor:
    """The mean over the filters, but the sum over the places, or nothing where there is one."""
    scaled = _scaled(_normed(_groups(_convolved(x, weight, bias), num_groups)), gamma, beta)
    return (scaled.mean((1, 2)) * (scaled.shape[2] if scaled.shape[2] > 1 else 0)).to(x.dtype)


def last_channel_lost(x: Tensor, weight: Tensor, bias: Tensor, num_groups: int, gamma: Tensor, beta: Tensor) -> Tensor:
    """The last input channel is left out."""
    kept = torch.cat((weight[:, :-1], torch.zeros_like(weight[:, -1:])), 1)
    return _mean(_normed(_groups(_convolved(x, kept, bias), num_groups)), gamma, beta)


def filters_short_of_a_layer(
    x: Tensor, weight: Tensor, bias: Tensor, num_groups: int, gamma: Tensor, beta: Tensor
) -> Tensor:
    """The filters' last layer is left out."""
    kept = weight.clone()
    kept[:, :, -1] = 0
    return _mean(_normed(_groups(_convolved(x, kept, bias), num_groups)), gamma, beta)


def last_sample_of_the_first(
    x: Tensor, weight: Tensor, bias: Tensor, num_groups: int, gamma: Tensor, beta: Tensor
) -> Tensor:
    """The last sample repeats the first one's mean."""
    y = _mean(_normed(_groups(_convolved(x, weight, bias), num_groups)), gamma, beta)
    return torch.cat((y[:-1], y[:1]))


tf32_inputs.dtypes = moments_in_bfloat16.dtypes = eps_of_another.dtypes = ("float32",)

HONEST = (implicit_gemm, means_of_filters, two_kernels, three_kernels, in_double)
MUTANTS = (
    tf32_inputs, half_sum, moments_in_bfloat16, eps_of_another, unbiased, not_centred, each_filter_alone, one_group,
    offsets_alone, no_bias, no_gamma, no_beta, scale_of_a_group, last_place_lost, last_filter_lost, sum_of_places,
    last_channel_lost, filters_short_of_a_layer, last_sample_of_the_first,
)  # fmt: skip
