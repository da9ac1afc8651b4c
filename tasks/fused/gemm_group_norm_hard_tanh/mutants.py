"""Variants of the affine map with group normalisation: honest ones that must pass and wrong ones that must fail."""

import torch
from torch import Tensor

from robust_kbench.audit.emulated import multiplied, summed, tf32

EPSILON = 1e-5


def _affine(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return x.float() @ weight.float().T + bias.float()


def _normed(z: Tensor, num_groups: int, epsilon: float = EPSILON) -> Tensor:
    """Two passes in float32, without scale and offset."""
    groups = z.float().reshape(len(z), num_groups, -1)
    centred = groups - groups.mean(-1, keepdim=True)
    return (centred * torch.rsqrt(centred.square().mean(-1, keepdim=True) + epsilon)).reshape(z.shape)


def _clamped(normed: Tensor, gamma: Tensor, beta: Tensor) -> Tensor:
    """In the parameters' dtype."""
    return (normed * gamma.float() + beta.float()).clamp(-2, 2).to(gamma.dtype)


def tensor_core(x: Tensor, weight: Tensor, bias: Tensor, num_groups: int, gamma: Tensor, beta: Tensor) -> Tensor:
    """Sixteen terms at a time into float32 accumulators; two passes over a group, by 32 lanes each."""
    z = (multiplied(x, weight.T) + bias.float()).reshape(len(x), num_groups, -1)
    centred = z - (summed(z) / z.shape[-1])[..., None]
    variance = (summed(centred.square()) / z.shape[-1])[..., None]
    return _clamped((centred * torch.rsqrt(variance + EPSILON)).reshape(len(x), -1), gamma, beta)


def two_kernels(x: Tensor, weight: Tensor, bias: Tensor, num_groups: int, gamma: Tensor, beta: Tensor) -> Tensor:
    """The affine map is stored in the task's dtype before it is normalised in float32."""
    return _clamped(_normed(_affine(x, weight, bias).to(x.dtype), num_groups), gamma, beta)


def three_kernels(x: Tensor, weight: Tensor, bias: Tensor, num_groups: int, gamma: Tensor, beta: Tensor) -> Tensor:
    """The affine map and the normalised groups are each stored in the task's dtype."""
    normed = _normed(_affine(x, weight, bias).to(x.dtype), num_groups) * gamma.float() + beta.float()
    return normed.to(x.dtype).clamp(-2, 2)


def welford(x: Tensor, weight: Tensor, bias: Tensor, num_groups: int, gamma: Tensor, beta: Tensor) -> Tensor:
    """Tiles of sixteen features, each with its own mean and squares, joined as Chan, Golub and LeVeque do."""
    groups = _affine(x, weight, bias).reshape(len(x), num_groups, -1)
    mean, squares, count = torch.zeros_like(groups[..., :1]), torch.zeros_like(groups[..., :1]), 0
    for part in groups.split(16, -1):
        size, own = part.shape[-1], part.mean(-1, keepdim=True)
        moved = own - mean
        squares = squares + (part - own).square().sum(-1, keepdim=True)
        squares = squares + moved.square() * (count * size / (count + size))
        count += size
        mean = mean + moved * (size / count)
    normed = (groups - mean) / torch.sqrt(squares / count + EPSILON)
    return _clamped(normed.reshape(len(x), -1), gamma, beta)


def in_double(x: Tensor, weight: Tensor, bias: Tensor, num_groups: int, gamma: Tensor, beta: Tensor) -> Tensor:
    """float64 all the way, rounded once."""
    groups = torch.addmm(bias.double(), x.double(), weight.double().T).reshape(len(x), num_groups, -1)
    centred = groups - groups.mean(-1, keepdim=True)
    normed = (centred / torch.sqrt(centred.square().mean(-1, keepdim=True) + EPSILON)).reshape(len(x), -1)
    return (normed * gamma.double() + beta.double()).clamp(-2, 2).to(x.dtype)


def tf32_once(x: Tensor, weight: Tensor, bias: Tensor, num_groups: int, gamma: Tensor, beta: Tensor) -> Tensor:
    """float32: the factors are rounded to TF32."""
    return _clamped(_normed(tf32(x) @ tf32(weight).T + bias, num_groups), gamma, beta)


def half_accumulator(x: Tensor, weight: Tensor, bias: Tensor, num_groups: int, gamma: Tensor, beta: Tensor) -> Tensor:
    """float16 accumulators in the product, rounded after every four terms."""
    z = multiplied(x, weight.T, torch.float16, step=4).float() + bias.float()
    return _clamped(_normed(z, num_groups), gamma, beta)


def accumulator_of_the_dtype(
    x: Tensor, weight: Tensor, bias: Tensor, num_groups: int, gamma: Tensor, beta: Tensor
) -> Tensor:
    """Halves: accumulators of the inputs' own dtype, rounded after every two terms."""
    z = (multiplied(x, weight.T, x.dtype, step=2) + bias).float()
    return _clamped(_normed(z, num_groups), gamma, beta)


def moments_in_bfloat16(
    x: Tensor, weight: Tensor, bias: Tensor, num_groups: int, gamma: Tensor, beta: Tensor
) -> Tensor:
    """Mean and squares are summed in bfloat16, by eight lanes."""
    groups = _affine(x, weight, bias).reshape(len(x), num_groups, -1)
    centred = groups - summed(groups, torch.bfloat16, lanes=8).float()[..., None] / groups.shape[-1]
    variance = summed(centred.square(), torch.bfloat16, lanes=8).float()[..., None] / groups.shape[-1]
    return _clamped((centred * torch.rsqrt(variance + EPSILON)).reshape(len(x), -1), gamma, beta)


def eps_of_another(x: Tensor, weight: Tensor, bias: Tensor, num_groups: int, gamma: Tensor, beta: Tensor) -> Tensor:
    """float32: epsilon 1e-3, the default of another framework."""
    return _clamped(_normed(_affine(x, weight, bias), num_groups, 1e-3), gamma, beta)


def unbiased(x: Tensor, weight: Tensor, bias: Tensor, num_groups: int, gamma: Tensor, beta: Tensor) -> Tensor:
    """The variance is divided by the count minus one."""
    z = _affine(x, weight, bias)
    depth = z.shape[1] // num_groups
    return _clamped(_normed(z, num_groups) * ((depth - 1) / depth) ** 0.5, gamma, beta)


def not_centred(x: Tensor, weight: Tensor, bias: Tensor, num_groups: int, gamma: Tensor, beta: Tensor) -> Tensor:
    """The mean is not subtracted: a root mean square in place of the deviation."""
    groups = _affine(x, weight, bias).reshape(len(x), num_groups, -1)
    normed = groups * torch.rsqrt(groups.square().mean(-1, keepdim=True) + EPSILON)
    return _clamped(normed.reshape(len(x), -1), gamma, beta)


def interleaved_groups(x: Tensor, weight: Tensor, bias: Tensor, num_groups: int, gamma: Tensor, beta: Tensor) -> Tensor:
    """Feature f belongs to group f modulo the number of groups."""
    apart = _affine(x, weight, bias).unflatten(1, (-1, num_groups)).transpose(1, 2)
    normed = _normed(apart.flatten(1), num_groups).unflatten(1, apart.shape[1:])
    return _clamped(normed.transpose(1, 2).flatten(1), gamma, beta)


def moments_of_the_batch(
    x: Tensor, weight: Tensor, bias: Tensor, num_groups: int, gamma: Tensor, beta: Tensor
) -> Tensor:
    """Batch normalisation: the moments of a feature are taken over the rows."""
    centred = _affine(x, weight, bias) - _affine(x, weight, bias).mean(0)
    return _clamped(centred * torch.rsqrt(centred.square().mean(0) + EPSILON), gamma, beta)


def no_bias(x: Tensor, weight: Tensor, bias: Tensor, num_groups: int, gamma: Tensor, beta: Tensor) -> Tensor:
    """The bias of the affine map is left out."""
    return _clamped(_normed(x.float() @ weight.float().T, num_groups), gamma, beta)


def no_gamma(x: Tensor, weight: Tensor, bias: Tensor, num_groups: int, gamma: Tensor, beta: Tensor) -> Tensor:
    """The scale is left out."""
    return _clamped(_normed(_affine(x, weight, bias), num_groups), torch.ones_like(gamma), beta)


def no_beta(x: Tensor, weight: Tensor, bias: Tensor, num_groups: int, gamma: Tensor, beta: Tensor) -> Tensor:
    """The offset is left out."""
    return _clamped(_normed(_affine(x, weight, bias), num_groups), gamma, torch.zeros_like(beta))


def scale_of_a_group(x: Tensor, weight: Tensor, bias: Tensor, num_groups: int, gamma: Tensor, beta: Tensor) -> Tensor:
    """All features of a group are scaled as its first one."""
    first = gamma.reshape(num_groups, -1)[:, :1].expand(-1, len(gamma) // num_groups)
    return _clamped(_normed(_affine(x, weight, bias), num_groups), first.reshape(-1), beta)


def not_clamped(x: Tensor, weight: Tensor, bias: Tensor, num_groups: int, gamma: Tensor, beta: Tensor) -> Tensor:
    """The hard hyperbolic tangent is left out."""
    return (_normed(_affine(x, weight, bias), num_groups) * gamma.float() + beta.float()).to(x.dtype)


def clamped_at_one(x: Tensor, weight: Tensor, bias: Tensor, num_groups: int, gamma: Tensor, beta: Tensor) -> Tensor:
    """Clamped between -1 and 1."""
    return _clamped(_normed(_affine(x, weight, bias), num_groups), gamma, beta).clamp(-1, 1)


def clamped_from_above(x: Tensor, weight: Tensor, bias: Tensor, num_groups: int, gamma: Tensor, beta: Tensor) -> Tensor:
    """Clamped from above alone."""
    return (_normed(_affine(x, weight, bias), num_groups) * gamma.float() + beta.float()).clamp(max=2).to(x.dtype)


def clamped_first(x: Tensor, weight: Tensor, bias: Tensor, num_groups: int, gamma: Tensor, beta: Tensor) -> Tensor:
    """Clamped before scale and offset."""
    return (_normed(_affine(x, weight, bias), num_groups).clamp(-2, 2) * gamma.float() + beta.float()).to(x.dtype)


def smooth(x: Tensor, weight: Tensor, bias: Tensor, num_groups: int, gamma: Tensor, beta: Tensor) -> Tensor:
    """A hyperbolic tangent of the same slope."""
    return (2 * torch.tanh((_normed(_affine(x, weight, bias), num_groups) * gamma.float() + beta.float()) / 2)).to(
        x.dtype
    )


def last_feature_unseen(
    x: Tensor, weight: Tensor, bias: Tensor, num_groups: int, gamma: Tensor, beta: Tensor
) -> Tensor:
    """The last feature of a group enters neither mean nor variance."""
    groups = _affine(x, weight, bias).reshape(len(x), num_groups, -1)
    mean = groups[..., :-1].mean(-1, keepdim=True)
    variance = (groups[..., :-1] - mean).square().mean(-1, keepdim=True)
    return _clamped(((groups - mean) * torch.rsqrt(variance + EPSILON)).reshape(len(x), -1), gamma, beta)


def drops_the_last_term(
    x: Tensor, weight: Tensor, bias: Tensor, num_groups: int, gamma: Tensor, beta: Tensor
) -> Tensor:
    """The last input feature is left out."""
    return _clamped(_normed(_affine(x[:, :-1], weight[:, :-1], bias), num_groups), gamma, beta)


def drops_the_tail(x: Tensor, weight: Tensor, bias: Tensor, num_groups: int, gamma: Tensor, beta: Tensor) -> Tensor:
    """The input features behind the last whole block of sixteen are left out."""
    whole = x.shape[1] // 16 * 16
    return _clamped(_normed(_affine(x[:, :whole], weight[:, :whole], bias), num_groups), gamma, beta)


def one_group(x: Tensor, weight: Tensor, bias: Tensor, num_groups: int, gamma: Tensor, beta: Tensor) -> Tensor:
    """All features are one group."""
    return _clamped(_normed(_affine(x, weight, bias), 1), gamma, beta)


tf32_once.dtypes = eps_of_another.dtypes = ("float32",)
half_accumulator.dtypes = ("float32", "float16")
accumulator_of_the_dtype.dtypes = ("float16", "bfloat16")

moments_in_bfloat16.dtypes = ("float32", "float16")

HONEST = (tensor_core, two_kernels, three_kernels, welford, in_double)
MUTANTS = (
    tf32_once, half_accumulator, accumulator_of_the_dtype, moments_in_bfloat16, eps_of_another, unbiased, not_centred,
    interleaved_groups, moments_of_the_batch, no_bias, no_gamma, no_beta, scale_of_a_group, not_clamped,
    clamped_at_one, clamped_from_above, clamped_first, smooth, last_feature_unseen, drops_the_last_term,
    drops_the_tail, one_group,
)  # fmt: skip
