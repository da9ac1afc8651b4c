"""Variants of group normalisation with SiLU: honest ones that must pass and wrong ones that must fail."""

import torch
from torch import Tensor

from robust_kbench.audit.emulated import summed, summed_in_turn, tf32

EPSILON = 1e-5
LOG2_E = 1.4426950408889634


def _groups(x: Tensor, num_groups: int) -> Tensor:
    return x.float().reshape(len(x), num_groups, -1)


def _affine(normed: Tensor, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return normed.reshape(x.shape) * weight.float()[:, None, None] + bias.float()[:, None, None]


def _silu(z: Tensor, dtype: torch.dtype) -> Tensor:
    return (z * torch.sigmoid(z)).to(dtype)


def _normed(groups: Tensor, epsilon: float = EPSILON) -> Tensor:
    centred = groups - groups.mean(-1, keepdim=True)
    return centred * torch.rsqrt(centred.square().mean(-1, keepdim=True) + epsilon)


def _expected(x: Tensor, num_groups: int, weight: Tensor, bias: Tensor) -> Tensor:
    """What goes into the activation, in float32."""
    return _affine(_normed(_groups(x, num_groups)), x, weight, bias)


def block_for_a_group(x: Tensor, num_groups: int, weight: Tensor, bias: Tensor) -> Tensor:
    """Two passes, each with 128 float32 accumulators and a tree; the activation as a division."""
    groups = _groups(x, num_groups)
    mean = summed(groups, lanes=128)[..., None] / groups.shape[-1]
    variance = summed((groups - mean).square(), lanes=128)[..., None] / groups.shape[-1]
    z = _affine((groups - mean) * torch.rsqrt(variance + EPSILON), x, weight, bias)
    return (z / (1 + torch.exp(-z))).to(x.dtype)


def welford(x: Tensor, num_groups: int, weight: Tensor, bias: Tensor) -> Tensor:
    """Tiles with their own mean and squares, joined as Chan, Golub and LeVeque do; exp2 in the activation."""
    groups = _groups(x, num_groups)
    mean, squares, count = torch.zeros_like(groups[..., :1]), torch.zeros_like(groups[..., :1]), 0
    for part in groups.split(max(64, groups.shape[-1] // 32), -1):
        size, own = part.shape[-1], part.mean(-1, keepdim=True)
        moved = own - mean
        squares = squares + (part - own).square().sum(-1, keepdim=True)
        squares = squares + moved.square() * (count * size / (count + size))
        count += size
        mean = mean + moved * (size / count)
    z = _affine((groups - mean) / torch.sqrt(squares / count + EPSILON), x, weight, bias)
    return (z / (1 + torch.exp2(z * -LOG2_E))).to(x.dtype)


def sums_in_double(x: Tensor, num_groups: int, weight: Tensor, bias: Tensor) -> Tensor:
    """One pass: sums of x and x^2 in float64, the rest in float32; exponentials of negative numbers only."""
    groups = _groups(x, num_groups).double()
    mean = groups.mean(-1, keepdim=True)
    variance = (groups.square().mean(-1, keepdim=True) - mean.square()).clamp(min=0)
    scale = torch.rsqrt(variance.float() + EPSILON)
    z = _affine((groups.float() - mean.float()) * scale, x, weight, bias)
    e = torch.exp(-z.abs())
    return (z * torch.where(z > 0, 1 / (1 + e), e / (1 + e))).to(x.dtype)


def one_accumulator(x: Tensor, num_groups: int, weight: Tensor, bias: Tensor) -> Tensor:
    """Each group by one thread, which adds its terms one after the other."""
    groups = _groups(x, num_groups)
    mean = summed_in_turn(groups)[..., None] / groups.shape[-1]
    variance = summed_in_turn((groups - mean).square())[..., None] / groups.shape[-1]
    return _silu(_affine((groups - mean) * torch.rsqrt(variance + EPSILON), x, weight, bias), x.dtype)


def scale_for_each_channel(x: Tensor, num_groups: int, weight: Tensor, bias: Tensor) -> Tensor:
    """Weight and the inverse deviation are multiplied first, as one factor for each channel."""
    groups = _groups(x, num_groups)
    mean = groups.mean(-1, keepdim=True)
    factor = torch.rsqrt((groups - mean).square().mean(-1, keepdim=True) + EPSILON)
    factor = (factor * weight.float().reshape(num_groups, -1)).reshape(len(x), -1, 1, 1)
    z = (groups - mean).reshape(x.shape) * factor + bias.float()[:, None, None]
    return torch.nn.functional.silu(z).to(x.dtype)


def no_activation(x: Tensor, num_groups: int, weight: Tensor, bias: Tensor) -> Tensor:
    """The activation is left out."""
    return _expected(x, num_groups, weight, bias).to(x.dtype)


def gate_alone(x: Tensor, num_groups: int, weight: Tensor, bias: Tensor) -> Tensor:
    """The sigmoid without the factor."""
    return torch.sigmoid(_expected(x, num_groups, weight, bias)).to(x.dtype)


def gelu(x: Tensor, num_groups: int, weight: Tensor, bias: Tensor) -> Tensor:
    """GELU instead of SiLU."""
    return torch.nn.functional.gelu(_expected(x, num_groups, weight, bias)).to(x.dtype)


def hard(x: Tensor, num_groups: int, weight: Tensor, bias: Tensor) -> Tensor:
    """Hard swish: the sigmoid is a straight line between -3 and 3."""
    return torch.nn.functional.hardswish(_expected(x, num_groups, weight, bias)).to(x.dtype)


def activation_before_the_offset(x: Tensor, num_groups: int, weight: Tensor, bias: Tensor) -> Tensor:
    """The offset is added after the activation."""
    z = _affine(_normed(_groups(x, num_groups)), x, weight, torch.zeros_like(bias))
    return (z * torch.sigmoid(z) + bias.float()[:, None, None]).to(x.dtype)


def gate_of_the_input(x: Tensor, num_groups: int, weight: Tensor, bias: Tensor) -> Tensor:
    """The sigmoid is taken of x before it is normalised."""
    return (_expected(x, num_groups, weight, bias) * torch.sigmoid(x.float())).to(x.dtype)


def gate_in_bfloat16(x: Tensor, num_groups: int, weight: Tensor, bias: Tensor) -> Tensor:
    """The sigmoid is kept in bfloat16 before it is multiplied."""
    z = _expected(x, num_groups, weight, bias)
    return (z * torch.sigmoid(z).bfloat16().float()).to(x.dtype)


def clipped(x: Tensor, num_groups: int, weight: Tensor, bias: Tensor) -> Tensor:
    """What goes into the activation is kept between -2 and 2."""
    return _silu(_expected(x, num_groups, weight, bias).clamp(-2, 2), x.dtype)


def unbiased(x: Tensor, num_groups: int, weight: Tensor, bias: Tensor) -> Tensor:
    """The variance is divided by the count minus one."""
    groups = _groups(x, num_groups)
    centred = groups - groups.mean(-1, keepdim=True)
    variance = centred.square().sum(-1, keepdim=True) / (groups.shape[-1] - 1)
    return _silu(_affine(centred * torch.rsqrt(variance + EPSILON), x, weight, bias), x.dtype)


def eps_of_another(x: Tensor, num_groups: int, weight: Tensor, bias: Tensor) -> Tensor:
    """Epsilon 1e-6, as diffusion models have it elsewhere."""
    return _silu(_affine(_normed(_groups(x, num_groups), 1e-6), x, weight, bias), x.dtype)


def not_centred(x: Tensor, num_groups: int, weight: Tensor, bias: Tensor) -> Tensor:
    """The mean is not subtracted: a root mean square in place of the deviation."""
    groups = _groups(x, num_groups)
    scale = torch.rsqrt(groups.square().mean(-1, keepdim=True) + EPSILON)
    return _silu(_affine(groups * scale, x, weight, bias), x.dtype)


def each_channel_alone(x: Tensor, num_groups: int, weight: Tensor, bias: Tensor) -> Tensor:
    """Instance normalisation: every channel is a group."""
    return _silu(_expected(x, x.shape[1], weight, bias), x.dtype)


def all_channels_together(x: Tensor, num_groups: int, weight: Tensor, bias: Tensor) -> Tensor:
    """One group."""
    return _silu(_expected(x, 1, weight, bias), x.dtype)


def interleaved_groups(x: Tensor, num_groups: int, weight: Tensor, bias: Tensor) -> Tensor:
    """Channel c belongs to group c modulo the number of groups."""
    apart = x.float().unflatten(1, (-1, num_groups)).transpose(1, 2)
    normed = _normed(apart.flatten(2)).reshape(apart.shape).transpose(1, 2)
    return _silu(_affine(normed, x, weight, bias), x.dtype)


def no_weight(x: Tensor, num_groups: int, weight: Tensor, bias: Tensor) -> Tensor:
    """The scale is left out."""
    return _silu(_expected(x, num_groups, torch.ones_like(weight), bias), x.dtype)


def no_bias(x: Tensor, num_groups: int, weight: Tensor, bias: Tensor) -> Tensor:
    """The offset is left out."""
    return _silu(_expected(x, num_groups, weight, torch.zeros_like(bias)), x.dtype)


def last_element_unseen(x: Tensor, num_groups: int, weight: Tensor, bias: Tensor) -> Tensor:
    """The last element of a group enters neither mean nor variance."""
    groups = _groups(x, num_groups)
    mean = groups[..., :-1].mean(-1, keepdim=True)
    variance = (groups[..., :-1] - mean).square().mean(-1, keepdim=True)
    return _silu(_affine((groups - mean) * torch.rsqrt(variance + EPSILON), x, weight, bias), x.dtype)


def half_accumulators(x: Tensor, num_groups: int, weight: Tensor, bias: Tensor) -> Tensor:
    """Mean and variance are summed in bfloat16, by eight lanes."""
    groups = _groups(x, num_groups)
    mean = summed(groups, torch.bfloat16, lanes=8).float()[..., None] / groups.shape[-1]
    variance = summed((groups - mean).square(), torch.bfloat16, lanes=8).float()[..., None] / groups.shape[-1]
    return _silu(_affine((groups - mean) * torch.rsqrt(variance + EPSILON), x, weight, bias), x.dtype)


def tf32_inputs(x: Tensor, num_groups: int, weight: Tensor, bias: Tensor) -> Tensor:
    """float32: the input passes through TF32."""
    return _silu(_expected(tf32(x), num_groups, weight, bias), x.dtype)


def last_plane_of_another(x: Tensor, num_groups: int, weight: Tensor, bias: Tensor) -> Tensor:
    """The last channel takes the first one's offset."""
    return _silu(_expected(x, num_groups, weight, torch.cat((bias[:-1], bias[:1]))), x.dtype)


gate_in_bfloat16.dtypes = ("float32", "float16")
tf32_inputs.dtypes = ("float32",)


def equal_values_give_nan(x: Tensor, num_groups: int, weight: Tensor, bias: Tensor) -> Tensor:
    """Equal values have a variance of nothing, by which they are divided: NaN, as for padding."""
    groups = _groups(x, num_groups)
    spread = groups.amax(-1, keepdim=True) - groups.amin(-1, keepdim=True)
    is_blank = (spread == 0).expand(groups.shape).reshape(x.shape) & (groups.shape[-1] > 1)
    return block_for_a_group(x, num_groups, weight, bias).masked_fill(is_blank, torch.nan)


HONEST = (one_accumulator, block_for_a_group, welford, sums_in_double, scale_for_each_channel)
MUTANTS = (
    no_activation, gate_alone, gelu, hard, activation_before_the_offset, gate_of_the_input, gate_in_bfloat16, clipped,
    unbiased, eps_of_another, not_centred, each_channel_alone, all_channels_together, interleaved_groups, no_weight,
    no_bias, last_element_unseen, half_accumulators, tf32_inputs, last_plane_of_another,
    equal_values_give_nan,
)  # fmt: skip
