"""Variants of group normalisation: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import summed, summed_in_turn, tf32

EPSILON = 1e-5


def _groups(x: torch.Tensor, num_groups: int) -> torch.Tensor:
    return x.float().reshape(len(x), num_groups, -1)


def _scaled(normed: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    return (normed.reshape(x.shape) * weight.float()[:, None, None] + bias.float()[:, None, None]).to(x.dtype)


def _normalise(groups: torch.Tensor, mean: torch.Tensor, variance: torch.Tensor) -> torch.Tensor:
    return (groups - mean) * torch.rsqrt(variance + EPSILON)


def _two_pass(groups: torch.Tensor) -> torch.Tensor:
    mean = groups.mean(-1, keepdim=True)
    return _normalise(groups, mean, (groups - mean).square().mean(-1, keepdim=True))


def block_for_a_group(x: torch.Tensor, num_groups: int, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Two passes, each with 128 float32 accumulators and a tree."""
    groups = _groups(x, num_groups)
    count = groups.shape[-1]
    mean = (summed(groups, lanes=128) / count)[..., None]
    variance = (summed((groups - mean).square(), lanes=128) / count)[..., None]
    return _scaled(_normalise(groups, mean, variance), x, weight, bias)


def welford(x: torch.Tensor, num_groups: int, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Tiles of 64, each with its own mean and squares, joined as Chan, Golub and LeVeque do."""
    groups = _groups(x, num_groups)
    mean, squares, count = torch.zeros_like(groups[..., :1]), torch.zeros_like(groups[..., :1]), 0
    for part in groups.split(64, -1):
        size, own = part.shape[-1], part.mean(-1, keepdim=True)
        moved = own - mean
        squares = (
            squares + (part - own).square().sum(-1, keepdim=True) + moved.square() * (count * size / (count + size))
        )
        count += size
        mean = mean + moved * (size / count)
    return _scaled(_normalise(groups, mean, squares / count), x, weight, bias)


def sums_in_double(x: torch.Tensor, num_groups: int, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """One pass: sums of x and x^2 in float64, the rest in float32."""
    groups = _groups(x, num_groups).double()
    mean = groups.mean(-1, keepdim=True)
    variance = (groups.square().mean(-1, keepdim=True) - mean.square()).clamp(min=0)
    return _scaled(_normalise(groups.float(), mean.float(), variance.float()), x, weight, bias)


def scale_and_offset(x: torch.Tensor, num_groups: int, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Weight and the inverse deviation are multiplied first, as one factor for each channel."""
    groups = _groups(x, num_groups)
    mean = groups.mean(-1, keepdim=True)
    factor = torch.rsqrt((groups - mean).square().mean(-1, keepdim=True) + EPSILON)
    per_channel = factor * weight.float().reshape(num_groups, -1)
    centred = (groups - mean).reshape(x.shape)
    return (centred * per_channel.reshape(len(x), -1, 1, 1) + bias.float()[:, None, None]).to(x.dtype)


def one_accumulator(x: torch.Tensor, num_groups: int, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Each group by one thread, which adds its terms one after the other."""
    groups = _groups(x, num_groups)
    mean = summed_in_turn(groups)[..., None] / groups.shape[-1]
    variance = summed_in_turn((groups - mean).square())[..., None] / groups.shape[-1]
    return _scaled(_normalise(groups, mean, variance), x, weight, bias)


def unbiased(x: torch.Tensor, num_groups: int, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The variance is divided by the count minus one."""
    groups = _groups(x, num_groups)
    mean = groups.mean(-1, keepdim=True)
    variance = (groups - mean).square().sum(-1, keepdim=True) / max(1, groups.shape[-1] - 1)
    return _scaled(_normalise(groups, mean, variance), x, weight, bias)


def eps_of_rmsnorm(x: torch.Tensor, num_groups: int, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Epsilon 1e-6 instead of 1e-5."""
    groups = _groups(x, num_groups)
    mean = groups.mean(-1, keepdim=True)
    variance = (groups - mean).square().mean(-1, keepdim=True) - 0.9e-5
    return _scaled(_normalise(groups, mean, variance), x, weight, bias)


def eps_outside(x: torch.Tensor, num_groups: int, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Epsilon is added to the root instead of under it."""
    centred = _groups(x, num_groups)
    centred = centred - centred.mean(-1, keepdim=True)
    return _scaled(centred / (centred.square().mean(-1, keepdim=True).sqrt() + EPSILON), x, weight, bias)


def not_centred(x: torch.Tensor, num_groups: int, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The mean is not subtracted: a root mean square in place of the deviation."""
    groups = _groups(x, num_groups)
    zero = torch.zeros_like(groups[..., :1])
    return _scaled(_normalise(groups, zero, groups.square().mean(-1, keepdim=True)), x, weight, bias)


def cancelling_variance(x: torch.Tensor, num_groups: int, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """mean(x^2) - mean(x)^2 with both means rounded to bfloat16."""
    groups = _groups(x, num_groups)
    mean = groups.mean(-1, keepdim=True).bfloat16().float()
    square = groups.square().mean(-1, keepdim=True).bfloat16().float()
    return _scaled(_normalise(groups, mean, (square - mean.square()).clamp(min=0)), x, weight, bias)


def each_channel_alone(x: torch.Tensor, num_groups: int, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Instance normalisation: every channel is a group."""
    return _scaled(_two_pass(_groups(x, x.shape[1])), x, weight, bias)


def all_channels_together(x: torch.Tensor, num_groups: int, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """One group."""
    return _scaled(_two_pass(_groups(x, 1)), x, weight, bias)


def interleaved_groups(x: torch.Tensor, num_groups: int, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Channel c belongs to group c modulo the number of groups."""
    apart = x.float().unflatten(1, (-1, num_groups)).transpose(1, 2)
    normed = _two_pass(apart.flatten(2)).reshape(apart.shape).transpose(1, 2).reshape(x.shape)
    return _scaled(normed, x, weight, bias)


def no_weight(x: torch.Tensor, num_groups: int, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The scale is left out."""
    return _scaled(_two_pass(_groups(x, num_groups)), x, torch.ones_like(weight), bias)


def no_bias(x: torch.Tensor, num_groups: int, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The offset is left out."""
    return _scaled(_two_pass(_groups(x, num_groups)), x, weight, torch.zeros_like(bias))


def last_element_unseen(x: torch.Tensor, num_groups: int, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The last element of a group enters neither mean nor variance."""
    groups = _groups(x, num_groups)
    seen = groups[..., : max(1, groups.shape[-1] - 1)]
    mean = seen.mean(-1, keepdim=True)
    return _scaled(_normalise(groups, mean, (seen - mean).square().mean(-1, keepdim=True)), x, weight, bias)


def half_accumulators(x: torch.Tensor, num_groups: int, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Mean and variance are summed in bfloat16, by eight lanes."""
    groups = _groups(x, num_groups)
    mean = summed(groups, torch.bfloat16, lanes=8).float()[..., None] / groups.shape[-1]
    square = summed((groups - mean).square(), torch.bfloat16, lanes=8).float()[..., None] / groups.shape[-1]
    return _scaled(_normalise(groups, mean, square), x, weight, bias)


def accumulators_of_the_dtype(
    x: torch.Tensor, num_groups: int, weight: torch.Tensor, bias: torch.Tensor
) -> torch.Tensor:
    """Halves: mean and variance are summed in the input's own dtype, by two lanes."""
    groups = _groups(x, num_groups)
    mean = summed(groups, x.dtype, lanes=2).float()[..., None] / groups.shape[-1]
    square = summed((groups - mean).square(), x.dtype, lanes=2).float()[..., None] / groups.shape[-1]
    return _scaled(_normalise(groups, mean, square), x, weight, bias)


def tf32_inputs(x: torch.Tensor, num_groups: int, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """float32: the input passes through TF32."""
    return _scaled(_two_pass(_groups(tf32(x), num_groups)), x, weight, bias)


def last_image_of_another(x: torch.Tensor, num_groups: int, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The last group of the last image uses the mean of the first."""
    groups = _groups(x, num_groups)
    mean = groups.mean(-1, keepdim=True)
    variance = (groups - mean).square().mean(-1, keepdim=True)
    mean = mean.clone()
    mean[-1, -1] = mean[0, 0]
    return _scaled(_normalise(groups, mean, variance), x, weight, bias)


def equal_values_give_nan(x: torch.Tensor, num_groups: int, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Equal values have a variance of nothing, by which they are divided: NaN, as for padding."""
    groups = _groups(x, num_groups)
    spread = groups.amax(-1, keepdim=True) - groups.amin(-1, keepdim=True)
    is_blank = (spread == 0).expand(groups.shape).reshape(x.shape) & (groups.shape[-1] > 1)
    return block_for_a_group(x, num_groups, weight, bias).masked_fill(is_blank, torch.nan)


accumulators_of_the_dtype.dtypes = ("float16", "bfloat16")
tf32_inputs.dtypes = ("float32",)

HONEST = (one_accumulator, block_for_a_group, welford, sums_in_double, scale_and_offset)
MUTANTS = (
    unbiased,
    eps_of_rmsnorm,
    eps_outside,
    not_centred,
    cancelling_variance,
    each_channel_alone,
    all_channels_together,
    interleaved_groups,
    no_weight,
    no_bias,
    last_element_unseen,
    half_accumulators,
    accumulators_of_the_dtype,
    tf32_inputs,
    last_image_of_another,
    equal_values_give_nan,
)
