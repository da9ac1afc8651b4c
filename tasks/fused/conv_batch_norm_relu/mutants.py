"""Variants of convolution, normalisation and rectifier: honest ones that must pass and wrong ones that must fail.

`norm` stands for gamma, beta, running_mean and running_var.
"""

import torch
from torch import Tensor
from torch.nn.functional import conv2d, pad, unfold

from robust_kbench.audit.emulated import multiplied, tf32

EPSILON = 1e-5


def _convolved(x: Tensor, weight: Tensor) -> Tensor:
    """By the library, in float32."""
    return conv2d(x.float(), weight.float(), padding=1)


def _columns(x: Tensor) -> Tensor:
    """[batch, places, channels * 9]: one row of factors for each place, in float32."""
    return unfold(x.float(), 3, padding=1).transpose(1, 2)


def _image(flat: Tensor, x: Tensor) -> Tensor:
    """From [batch, places, filters] to an image."""
    return flat.transpose(1, 2).unflatten(-1, x.shape[2:])


def _wide(parameter: Tensor) -> Tensor:
    return parameter.float()[:, None, None]


def _inverse(running_var: Tensor) -> Tensor:
    return torch.rsqrt(running_var.float() + EPSILON)


def _normed(
    z: Tensor, gamma: Tensor, beta: Tensor, running_mean: Tensor, running_var: Tensor, inverse: Tensor | None = None
) -> Tensor:
    """In float32; `inverse`: instead of the root that running_var gives."""
    factor = _wide(_inverse(running_var) if inverse is None else inverse)
    return (z.float() - _wide(running_mean)) * factor * _wide(gamma) + _wide(beta)


def _finished(z: Tensor, *norm: Tensor, inverse: Tensor | None = None) -> Tensor:
    """Normalised and rectified, in the parameters' dtype."""
    return _normed(z, *norm, inverse=inverse).clamp(min=0).to(norm[0].dtype)


def _folded(gamma: Tensor, beta: Tensor, running_mean: Tensor, running_var: Tensor) -> tuple[Tensor, Tensor]:
    """Factor and offset of each filter, in float32."""
    factor = gamma.float() * _inverse(running_var)
    return factor, beta.float() - running_mean.float() * factor


def implicit_gemm(x: Tensor, weight: Tensor, *norm: Tensor) -> Tensor:
    """A product with sixteen terms at a time into float32 accumulators, then the chain as it is written."""
    return _finished(_image(multiplied(_columns(x), weight.flatten(1).T), x), *norm).contiguous()


def in_the_filters(x: Tensor, weight: Tensor, *norm: Tensor) -> Tensor:
    """The factor is multiplied into the filters, in float32, and the offset is their bias."""
    factor, offset = _folded(*norm)
    z = conv2d(x.float(), weight.float() * factor[:, None, None, None], offset, padding=1)
    return z.clamp(min=0).to(x.dtype)


def two_kernels(x: Tensor, weight: Tensor, *norm: Tensor) -> Tensor:
    """The convolution is stored in the task's dtype; factor and offset of a filter are made before."""
    factor, offset = _folded(*norm)
    z = _convolved(x, weight).to(x.dtype).float()
    return (z * _wide(factor) + _wide(offset)).clamp(min=0).to(x.dtype)


def three_kernels(x: Tensor, weight: Tensor, *norm: Tensor) -> Tensor:
    """Convolution and normalisation are each stored in the task's dtype."""
    return _normed(_convolved(x, weight).to(x.dtype), *norm).to(x.dtype).relu()


def in_double(x: Tensor, weight: Tensor, *norm: Tensor) -> Tensor:
    """float64 all the way, rounded once."""
    gamma, beta, running_mean, running_var = (parameter.double()[:, None, None] for parameter in norm)
    z = conv2d(x.double(), weight.double(), padding=1)
    normed = (z - running_mean) / torch.sqrt(running_var + EPSILON) * gamma + beta
    return normed.clamp(min=0).to(x.dtype)


def tf32_inputs(x: Tensor, weight: Tensor, *norm: Tensor) -> Tensor:
    """float32: the library's default, factors rounded to TF32."""
    return _finished(_convolved(tf32(x), tf32(weight)), *norm)


def half_accumulators(x: Tensor, weight: Tensor, *norm: Tensor) -> Tensor:
    """Accumulators of the next lower class, rounded after every four terms."""
    lower = torch.bfloat16 if x.dtype == torch.float32 else x.dtype
    return _finished(_image(multiplied(_columns(x), weight.flatten(1).T, lower, step=4), x), *norm).contiguous()


def factors_in_bfloat16(x: Tensor, weight: Tensor, *norm: Tensor) -> Tensor:
    """Factor and offset of a filter are kept in bfloat16."""
    factor, offset = (parameter.bfloat16() for parameter in _folded(*norm))
    return (_convolved(x, weight) * _wide(factor) + _wide(offset)).clamp(min=0).to(x.dtype)


def approximate_root(x: Tensor, weight: Tensor, *norm: Tensor) -> Tensor:
    """float32: an inverse root of ten bits without a step of Newton's method, as of a vector unit."""
    return _finished(_convolved(x, weight), *norm, inverse=tf32(_inverse(norm[-1])))


def no_eps(x: Tensor, weight: Tensor, *norm: Tensor) -> Tensor:
    """float32: no epsilon."""
    return _finished(_convolved(x, weight), *norm, inverse=torch.rsqrt(norm[-1].float()))


def eps_of_another(x: Tensor, weight: Tensor, *norm: Tensor) -> Tensor:
    """float32: epsilon 1e-3, the default of another framework."""
    return _finished(_convolved(x, weight), *norm, inverse=torch.rsqrt(norm[-1].float() + 1e-3))


def no_root(x: Tensor, weight: Tensor, *norm: Tensor) -> Tensor:
    """Divided by the variance instead of by its root."""
    return _finished(_convolved(x, weight), *norm, inverse=1 / (norm[-1].float() + EPSILON))


def multiplied_by_the_root(x: Tensor, weight: Tensor, *norm: Tensor) -> Tensor:
    """Multiplied by the deviation instead of divided by it."""
    return _finished(_convolved(x, weight), *norm, inverse=1 / _inverse(norm[-1]))


def statistics_of_the_batch(x: Tensor, weight: Tensor, *norm: Tensor) -> Tensor:
    """As in training: mean and variance of the batch itself."""
    z = _convolved(x, weight)
    mean = z.mean((0, 2, 3))
    return _finished(z, *norm[:2], mean, (z - mean[:, None, None]).square().mean((0, 2, 3))).to(x.dtype)


def mean_not_removed(x: Tensor, weight: Tensor, *norm: Tensor) -> Tensor:
    """The mean is not subtracted."""
    gamma, beta, running_mean, running_var = norm
    return _finished(_convolved(x, weight), gamma, beta, torch.zeros_like(running_mean), running_var)


def mean_added(x: Tensor, weight: Tensor, *norm: Tensor) -> Tensor:
    """The folded offset has the wrong sign before the mean."""
    gamma, beta, running_mean, running_var = norm
    return _finished(_convolved(x, weight), gamma, beta, -running_mean, running_var)


def no_gamma(x: Tensor, weight: Tensor, *norm: Tensor) -> Tensor:
    """The scale is left out."""
    return _finished(_convolved(x, weight), torch.ones_like(norm[0]), *norm[1:])


def no_beta(x: Tensor, weight: Tensor, *norm: Tensor) -> Tensor:
    """The offset is left out."""
    gamma, beta, running_mean, running_var = norm
    return _finished(_convolved(x, weight), gamma, torch.zeros_like(beta), running_mean, running_var)


def rectified_first(x: Tensor, weight: Tensor, *norm: Tensor) -> Tensor:
    """The rectifier comes before the normalisation."""
    return _normed(_convolved(x, weight).clamp(min=0), *norm).to(x.dtype)


def not_rectified(x: Tensor, weight: Tensor, *norm: Tensor) -> Tensor:
    """The rectifier is left out."""
    return _normed(_convolved(x, weight), *norm).to(x.dtype)


def clipped_at_six(x: Tensor, weight: Tensor, *norm: Tensor) -> Tensor:
    """Clipped at six as well, as mobile networks do."""
    return _normed(_convolved(x, weight), *norm).clamp(0, 6).to(x.dtype)


def last_filter_of_the_first(x: Tensor, weight: Tensor, *norm: Tensor) -> Tensor:
    """The last filter subtracts the mean of the first."""
    gamma, beta, running_mean, running_var = norm
    mean = torch.cat((running_mean[:-1], running_mean[:1]))
    return _finished(_convolved(x, weight), gamma, beta, mean, running_var)


def channels_innermost(x: Tensor, weight: Tensor, *norm: Tensor) -> Tensor:
    """The offset's filter is counted along the columns, as in an image with its channels innermost."""
    gamma, beta, running_mean, running_var = norm
    z = _normed(_convolved(x, weight), gamma, torch.zeros_like(beta), running_mean, running_var)
    return (z + beta.float()[torch.arange(x.shape[-1]) % len(beta)]).clamp(min=0).to(x.dtype)


def edge_padding(x: Tensor, weight: Tensor, *norm: Tensor) -> Tensor:
    """The margin repeats the edge."""
    padded = pad(x.float(), (1, 1, 1, 1), mode="replicate")
    return _finished(conv2d(padded, weight.float()), *norm)


def flipped(x: Tensor, weight: Tensor, *norm: Tensor) -> Tensor:
    """The mathematical convolution: the filters are mirrored."""
    return _finished(_convolved(x, weight.flip(2, 3)), *norm)


def corner_tap_lost(x: Tensor, weight: Tensor, *norm: Tensor) -> Tensor:
    """The filters' first place, in the last channel, is left out."""
    kept = weight.clone()
    kept[:, -1, 0, 0] = 0
    return _finished(_convolved(x, kept), *norm)


def last_channel_lost(x: Tensor, weight: Tensor, *norm: Tensor) -> Tensor:
    """The last input channel is left out."""
    kept = torch.cat((weight[:, :-1], torch.zeros_like(weight[:, -1:])), 1)
    return _finished(_convolved(x, kept), *norm)


def shifted_by_one(x: Tensor, weight: Tensor, *norm: Tensor) -> Tensor:
    """The image starts one column too late."""
    return _finished(_convolved(pad(x, (1, 0))[..., :-1], weight), *norm)


tf32_inputs.dtypes = approximate_root.dtypes = no_eps.dtypes = eps_of_another.dtypes = ("float32",)
factors_in_bfloat16.dtypes = ("float32", "float16")

HONEST = (implicit_gemm, in_the_filters, two_kernels, three_kernels, in_double)
MUTANTS = (
    tf32_inputs, half_accumulators, factors_in_bfloat16, approximate_root, no_eps, eps_of_another, no_root,
    multiplied_by_the_root, statistics_of_the_batch, mean_not_removed, mean_added, no_gamma, no_beta, rectified_first,
    not_rectified, clipped_at_six, last_filter_of_the_first, channels_innermost, edge_padding, flipped,
    corner_tap_lost, last_channel_lost, shifted_by_one,
)  # fmt: skip
