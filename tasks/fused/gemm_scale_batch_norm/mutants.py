"""Variants of the affine map with batch normalisation: honest ones that must pass and wrong ones that must fail.

`norm` stands for gamma, beta, running_mean and running_var.
"""

import torch
from torch import Tensor

from robust_kbench.audit.emulated import multiplied, tf32

EPSILON = 1e-5


def _affine(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return x.float() @ weight.float().T + bias.float()


def _scaled(x: Tensor, weight: Tensor, bias: Tensor, scale: Tensor) -> Tensor:
    return _affine(x, weight, bias) * scale.float()


def _inverse(running_var: Tensor) -> Tensor:
    return torch.rsqrt(running_var.float() + EPSILON)


def _normalise(
    z: Tensor, gamma: Tensor, beta: Tensor, running_mean: Tensor, running_var: Tensor, inverse: Tensor | None = None
) -> Tensor:
    """In the dtype of the parameters; `inverse`: instead of the root that running_var gives."""
    factor = _inverse(running_var) if inverse is None else inverse
    return ((z - running_mean.float()) * factor * gamma.float() + beta.float()).to(gamma.dtype)


def _folded(
    bias: Tensor, scale: Tensor, gamma: Tensor, beta: Tensor, running_mean: Tensor, running_var: Tensor
) -> tuple[Tensor, Tensor]:
    """Factor and offset of each feature, for the bare product, in float32."""
    factor = gamma.float() * _inverse(running_var)
    return scale.float() * factor, (bias.float() * scale.float() - running_mean.float()) * factor + beta.float()


def tensor_core(x: Tensor, weight: Tensor, bias: Tensor, scale: Tensor, *norm: Tensor) -> Tensor:
    """Sixteen terms at a time into float32 accumulators, then the chain as it is written."""
    return _normalise((multiplied(x, weight.T) + bias.float()) * scale.float(), *norm)


def one_factor(x: Tensor, weight: Tensor, bias: Tensor, scale: Tensor, *norm: Tensor) -> Tensor:
    """Factor and offset of a feature are made before, in float32; eight terms of the product at a time."""
    factor, offset = _folded(bias, scale, *norm)
    return (multiplied(x, weight.T, step=8) * factor + offset).to(x.dtype)


def in_the_weights(x: Tensor, weight: Tensor, bias: Tensor, scale: Tensor, *norm: Tensor) -> Tensor:
    """The factor is multiplied into the weights, in float32."""
    factor, offset = _folded(bias, scale, *norm)
    return torch.addmm(offset, x.float(), (weight.float() * factor[:, None]).T).to(x.dtype)


def two_kernels(x: Tensor, weight: Tensor, bias: Tensor, scale: Tensor, *norm: Tensor) -> Tensor:
    """The affine map is stored in the task's dtype before everything else."""
    return _normalise(_affine(x, weight, bias).to(x.dtype).float() * scale.float(), *norm)


def in_double(x: Tensor, weight: Tensor, bias: Tensor, scale: Tensor, *norm: Tensor) -> Tensor:
    """float64 all the way, rounded once."""
    gamma, beta, running_mean, running_var = (parameter.double() for parameter in norm)
    z = torch.addmm(bias.double(), x.double(), weight.double().T) * scale.double()
    return ((z - running_mean) / torch.sqrt(running_var + EPSILON) * gamma + beta).to(x.dtype)


def tf32_once(x: Tensor, weight: Tensor, bias: Tensor, scale: Tensor, *norm: Tensor) -> Tensor:
    """float32: the factors are rounded to TF32."""
    return _normalise((tf32(x) @ tf32(weight).T + bias) * scale, *norm)


def half_accumulator(x: Tensor, weight: Tensor, bias: Tensor, scale: Tensor, *norm: Tensor) -> Tensor:
    """float16 accumulators, rounded after every eight terms."""
    z = multiplied(x, weight.T, torch.float16, step=8).float() + bias.float()
    return _normalise(z * scale.float(), *norm)


def accumulator_of_the_dtype(x: Tensor, weight: Tensor, bias: Tensor, scale: Tensor, *norm: Tensor) -> Tensor:
    """Halves: accumulators of the inputs' own dtype, rounded after every two terms."""
    z = (multiplied(x, weight.T, x.dtype, step=2) + bias).float()
    return _normalise(z * scale.float(), *norm)


def factors_in_bfloat16(x: Tensor, weight: Tensor, bias: Tensor, scale: Tensor, *norm: Tensor) -> Tensor:
    """Factor and offset of a feature are kept in bfloat16."""
    factor, offset = (parameter.bfloat16().float() for parameter in _folded(bias, scale, *norm))
    return (x.float() @ weight.float().T * factor + offset).to(x.dtype)


def approximate_root(x: Tensor, weight: Tensor, bias: Tensor, scale: Tensor, *norm: Tensor) -> Tensor:
    """float32: an inverse root of ten bits without a step of Newton's method, as of a vector unit."""
    return _normalise(_scaled(x, weight, bias, scale), *norm, inverse=tf32(_inverse(norm[-1])))


def no_eps(x: Tensor, weight: Tensor, bias: Tensor, scale: Tensor, *norm: Tensor) -> Tensor:
    """float32: no epsilon."""
    return _normalise(_scaled(x, weight, bias, scale), *norm, inverse=torch.rsqrt(norm[-1].float()))


def eps_outside_the_root(x: Tensor, weight: Tensor, bias: Tensor, scale: Tensor, *norm: Tensor) -> Tensor:
    """float32: epsilon is added to the root instead of under it."""
    return _normalise(_scaled(x, weight, bias, scale), *norm, inverse=1 / (norm[-1].float().sqrt() + EPSILON))


def no_root(x: Tensor, weight: Tensor, bias: Tensor, scale: Tensor, *norm: Tensor) -> Tensor:
    """Divided by the variance instead of by its root."""
    return _normalise(_scaled(x, weight, bias, scale), *norm, inverse=1 / (norm[-1].float() + EPSILON))


def multiplied_by_the_root(x: Tensor, weight: Tensor, bias: Tensor, scale: Tensor, *norm: Tensor) -> Tensor:
    """Multiplied by the deviation instead of divided by it."""
    return _normalise(_scaled(x, weight, bias, scale), *norm, inverse=1 / _inverse(norm[-1]))


def statistics_of_the_batch(x: Tensor, weight: Tensor, bias: Tensor, scale: Tensor, *norm: Tensor) -> Tensor:
    """As in training: mean and variance of the batch itself."""
    z = _scaled(x, weight, bias, scale)
    mean = z.mean(0)
    return _normalise(z, *norm[:2], mean, (z - mean).square().mean(0))


def mean_not_removed(x: Tensor, weight: Tensor, bias: Tensor, scale: Tensor, *norm: Tensor) -> Tensor:
    """The mean is not subtracted."""
    gamma, beta, running_mean, running_var = norm
    return _normalise(_scaled(x, weight, bias, scale), gamma, beta, torch.zeros_like(running_mean), running_var)


def mean_added(x: Tensor, weight: Tensor, bias: Tensor, scale: Tensor, *norm: Tensor) -> Tensor:
    """The folded offset has the wrong sign before the mean."""
    gamma, beta, running_mean, running_var = norm
    return _normalise(_scaled(x, weight, bias, scale), gamma, beta, -running_mean, running_var)


def not_scaled(x: Tensor, weight: Tensor, bias: Tensor, scale: Tensor, *norm: Tensor) -> Tensor:
    """The factor is left out."""
    return _normalise(_affine(x, weight, bias), *norm)


def bias_not_scaled(x: Tensor, weight: Tensor, bias: Tensor, scale: Tensor, *norm: Tensor) -> Tensor:
    """The bias is added after the factor."""
    return _normalise(x.float() @ weight.float().T * scale.float() + bias.float(), *norm)


def scaled_in_the_end(x: Tensor, weight: Tensor, bias: Tensor, scale: Tensor, *norm: Tensor) -> Tensor:
    """The factor multiplies the result."""
    y = _normalise(_affine(x, weight, bias), *(parameter.float() for parameter in norm))
    return (y * scale.float()).to(x.dtype)


def no_bias(x: Tensor, weight: Tensor, bias: Tensor, scale: Tensor, *norm: Tensor) -> Tensor:
    """The bias of the affine map is left out."""
    return _normalise(_scaled(x, weight, torch.zeros_like(bias), scale), *norm)


def no_gamma(x: Tensor, weight: Tensor, bias: Tensor, scale: Tensor, *norm: Tensor) -> Tensor:
    """The scale of the normalisation is left out."""
    return _normalise(_scaled(x, weight, bias, scale), torch.ones_like(norm[0]), *norm[1:])


def no_beta(x: Tensor, weight: Tensor, bias: Tensor, scale: Tensor, *norm: Tensor) -> Tensor:
    """The offset of the normalisation is left out."""
    gamma, beta, running_mean, running_var = norm
    return _normalise(_scaled(x, weight, bias, scale), gamma, torch.zeros_like(beta), running_mean, running_var)


def gamma_over_beta(x: Tensor, weight: Tensor, bias: Tensor, scale: Tensor, *norm: Tensor) -> Tensor:
    """The scale of the normalisation multiplies its offset too."""
    gamma, beta, running_mean, running_var = norm
    return _normalise(_scaled(x, weight, bias, scale), gamma, beta.float() * gamma.float(), running_mean, running_var)


def next_feature(x: Tensor, weight: Tensor, bias: Tensor, scale: Tensor, *norm: Tensor) -> Tensor:
    """Scales of the normalisation are read one feature too far, from the last one nowhere."""
    gamma = torch.cat((norm[0][1:], torch.zeros_like(norm[0][:1])))
    return _normalise(_scaled(x, weight, bias, scale), gamma, *norm[1:])


def last_feature_of_the_first(x: Tensor, weight: Tensor, bias: Tensor, scale: Tensor, *norm: Tensor) -> Tensor:
    """The last feature subtracts the mean of the first, or nothing where it is alone."""
    gamma, beta, running_mean, running_var = norm
    first = running_mean[:1] * (len(running_mean) > 1)
    mean = torch.cat((running_mean[:-1], first))
    return _normalise(_scaled(x, weight, bias, scale), gamma, beta, mean, running_var)


def drops_the_last_term(x: Tensor, weight: Tensor, bias: Tensor, scale: Tensor, *norm: Tensor) -> Tensor:
    """The last input feature is left out."""
    return _normalise(_scaled(x[:, :-1], weight[:, :-1], bias, scale), *norm)


def drops_the_tail(x: Tensor, weight: Tensor, bias: Tensor, scale: Tensor, *norm: Tensor) -> Tensor:
    """The input features behind the last whole block of eight are left out."""
    whole = x.shape[1] // 8 * 8 or x.shape[1]
    return _normalise(_scaled(x[:, :whole], weight[:, :whole], bias, scale), *norm)


tf32_once.dtypes = approximate_root.dtypes = no_eps.dtypes = eps_outside_the_root.dtypes = ("float32",)
half_accumulator.dtypes = factors_in_bfloat16.dtypes = ("float32", "float16")
accumulator_of_the_dtype.dtypes = ("float16", "bfloat16")

HONEST = (tensor_core, one_factor, in_the_weights, two_kernels, in_double)
MUTANTS = (
    tf32_once, half_accumulator, accumulator_of_the_dtype, factors_in_bfloat16, approximate_root, no_eps,
    eps_outside_the_root, no_root, multiplied_by_the_root, statistics_of_the_batch, mean_not_removed, mean_added,
    not_scaled, bias_not_scaled, scaled_in_the_end, no_bias, no_gamma, no_beta, gamma_over_beta, next_feature,
    last_feature_of_the_first, drops_the_last_term, drops_the_tail,
)  # fmt: skip
