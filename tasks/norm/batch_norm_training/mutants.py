"""Variants of batch normalisation in training: honest ones that must pass and wrong ones that must fail."""

import torch
from torch import Tensor

from robust_kbench.audit.emulated import summed, summed_in_turn, tf32

EPSILON = 1e-5
MOMENTUM = 0.1
Triple = tuple[Tensor, Tensor, Tensor]


def _channels(x: Tensor) -> Tensor:
    """One row for each channel, in float32."""
    return x.float().transpose(0, 1).flatten(1)


def _moments(x: Tensor) -> tuple[Tensor, Tensor]:
    rows = _channels(x)
    mean = rows.mean(-1)
    return mean, (rows - mean[:, None]).square().mean(-1)


def _normalise(x: Tensor, weight: Tensor, bias: Tensor, mean: Tensor, scale: Tensor) -> Tensor:
    factor, offset = weight.float()[:, None, None], bias.float()[:, None, None]
    return ((x.float() - mean[:, None, None]) * scale[:, None, None] * factor + offset).to(x.dtype)


def _updated(x: Tensor, running: Tensor, new: Tensor) -> Tensor:
    return ((1 - MOMENTUM) * running.float() + MOMENTUM * new).to(x.dtype)


def _unbiased(x: Tensor, variance: Tensor) -> Tensor:
    count = x.numel() // x.shape[1]
    return variance * (count / (count - 1))


def _all(
    x: Tensor, weight: Tensor, bias: Tensor, running_mean: Tensor, running_var: Tensor, mean: Tensor, variance: Tensor
) -> Triple:
    """Everything from the mean and the biased variance of each channel."""
    y = _normalise(x, weight, bias, mean, torch.rsqrt(variance + EPSILON))
    return y, _updated(x, running_mean, mean), _updated(x, running_var, _unbiased(x, variance))


def two_pass(x: Tensor, weight: Tensor, bias: Tensor, running_mean: Tensor, running_var: Tensor) -> Triple:
    """A block for each channel: the mean, then the centred squares, each by 128 float32 accumulators and a tree."""
    rows = _channels(x)
    mean = summed(rows, lanes=128) / rows.shape[-1]
    variance = summed((rows - mean[:, None]).square(), lanes=128) / rows.shape[-1]
    return _all(x, weight, bias, running_mean, running_var, mean, variance)


def welford(x: Tensor, weight: Tensor, bias: Tensor, running_mean: Tensor, running_var: Tensor) -> Triple:
    """Tiles of a channel, each with its own mean and squares, joined as Chan, Golub and LeVeque do."""
    rows = _channels(x)
    mean, squares, count = torch.zeros_like(rows[:, 0]), torch.zeros_like(rows[:, 0]), 0
    for part in rows.split(max(64, rows.shape[-1] // 32), -1):
        size, own = part.shape[-1], part.mean(-1)
        moved = own - mean
        squares = squares + (part - own[:, None]).square().sum(-1) + moved.square() * (count * size / (count + size))
        count += size
        mean = mean + moved * (size / count)
    return _all(x, weight, bias, running_mean, running_var, mean, squares / count)


def sums_in_double(x: Tensor, weight: Tensor, bias: Tensor, running_mean: Tensor, running_var: Tensor) -> Triple:
    """One pass: sums of x and x^2 in float64, the rest in float32."""
    rows = _channels(x).double()
    mean = rows.mean(-1)
    variance = (rows.square().mean(-1) - mean.square()).clamp(min=0)
    return _all(x, weight, bias, running_mean, running_var, mean.float(), variance.float())


def one_accumulator(x: Tensor, weight: Tensor, bias: Tensor, running_mean: Tensor, running_var: Tensor) -> Triple:
    """Each channel by one thread, which adds its terms one after the other."""
    rows = _channels(x)
    mean = summed_in_turn(rows) / rows.shape[-1]
    variance = summed_in_turn((rows - mean[:, None]).square()) / rows.shape[-1]
    return _all(x, weight, bias, running_mean, running_var, mean, variance)


def image_by_image(x: Tensor, weight: Tensor, bias: Tensor, running_mean: Tensor, running_var: Tensor) -> Triple:
    """A partial sum for each image, added in float32; the running statistics by lerp; one factor for each channel."""
    count = x.numel() // x.shape[1]
    mean = x.float().flatten(2).sum(-1).sum(0) / count
    centred = x.float() - mean[:, None, None]
    variance = centred.square().flatten(2).sum(-1).sum(0) / count
    factor = weight.float() / torch.sqrt(variance + EPSILON)
    y = (centred * factor[:, None, None] + bias.float()[:, None, None]).to(x.dtype)
    new_mean = torch.lerp(running_mean.float(), mean, MOMENTUM).to(x.dtype)
    return y, new_mean, torch.lerp(running_var.float(), _unbiased(x, variance), MOMENTUM).to(x.dtype)


def unbiased_in_the_result(
    x: Tensor, weight: Tensor, bias: Tensor, running_mean: Tensor, running_var: Tensor
) -> Triple:
    """The result is divided by the unbiased deviation."""
    mean, variance = _moments(x)
    _, new_mean, new_var = _all(x, weight, bias, running_mean, running_var, mean, variance)
    scale = torch.rsqrt(_unbiased(x, variance) + EPSILON)
    return _normalise(x, weight, bias, mean, scale), new_mean, new_var


def biased_in_the_statistics(
    x: Tensor, weight: Tensor, bias: Tensor, running_mean: Tensor, running_var: Tensor
) -> Triple:
    """The running variance takes in the biased one."""
    mean, variance = _moments(x)
    y, new_mean, _ = _all(x, weight, bias, running_mean, running_var, mean, variance)
    return y, new_mean, _updated(x, running_var, variance)


def momentum_the_other_way(
    x: Tensor, weight: Tensor, bias: Tensor, running_mean: Tensor, running_var: Tensor
) -> Triple:
    """The running mean keeps a tenth of itself instead of nine tenths."""
    mean, variance = _moments(x)
    y, _, new_var = _all(x, weight, bias, running_mean, running_var, mean, variance)
    return y, (MOMENTUM * running_mean.float() + (1 - MOMENTUM) * mean).to(x.dtype), new_var


def statistics_not_updated(
    x: Tensor, weight: Tensor, bias: Tensor, running_mean: Tensor, running_var: Tensor
) -> Triple:
    """The running variance stays as it was."""
    y, new_mean, _ = _all(x, weight, bias, running_mean, running_var, *_moments(x))
    return y, new_mean, running_var


def deviation_in_the_statistics(
    x: Tensor, weight: Tensor, bias: Tensor, running_mean: Tensor, running_var: Tensor
) -> Triple:
    """The running variance takes in the deviation."""
    mean, variance = _moments(x)
    y, new_mean, _ = _all(x, weight, bias, running_mean, running_var, mean, variance)
    return y, new_mean, _updated(x, running_var, _unbiased(x, variance).sqrt())


def as_at_inference(x: Tensor, weight: Tensor, bias: Tensor, running_mean: Tensor, running_var: Tensor) -> Triple:
    """The result is made with the running statistics."""
    _, new_mean, new_var = _all(x, weight, bias, running_mean, running_var, *_moments(x))
    scale = torch.rsqrt(running_var.float() + EPSILON)
    return _normalise(x, weight, bias, running_mean.float(), scale), new_mean, new_var


def with_the_updated_mean(x: Tensor, weight: Tensor, bias: Tensor, running_mean: Tensor, running_var: Tensor) -> Triple:
    """The mean that is subtracted is the running one after its update."""
    mean, variance = _moments(x)
    _, new_mean, new_var = _all(x, weight, bias, running_mean, running_var, mean, variance)
    return _normalise(x, weight, bias, new_mean.float(), torch.rsqrt(variance + EPSILON)), new_mean, new_var


def eps_of_rmsnorm(x: Tensor, weight: Tensor, bias: Tensor, running_mean: Tensor, running_var: Tensor) -> Triple:
    """Epsilon 1e-6 instead of 1e-5."""
    mean, variance = _moments(x)
    _, new_mean, new_var = _all(x, weight, bias, running_mean, running_var, mean, variance)
    return _normalise(x, weight, bias, mean, torch.rsqrt(variance + 1e-6)), new_mean, new_var


def eps_outside_the_root(x: Tensor, weight: Tensor, bias: Tensor, running_mean: Tensor, running_var: Tensor) -> Triple:
    """Epsilon is added to the deviation instead of to the variance."""
    mean, variance = _moments(x)
    _, new_mean, new_var = _all(x, weight, bias, running_mean, running_var, mean, variance)
    return _normalise(x, weight, bias, mean, 1 / (variance.sqrt() + EPSILON)), new_mean, new_var


def eps_in_the_statistics(x: Tensor, weight: Tensor, bias: Tensor, running_mean: Tensor, running_var: Tensor) -> Triple:
    """float32: epsilon is added to the running variance too, 1e-3 as in another framework."""
    mean, variance = _moments(x)
    y, new_mean, _ = _all(x, weight, bias, running_mean, running_var, mean, variance)
    return y, new_mean, _updated(x, running_var, _unbiased(x, variance + 1e-3))


def not_centred(x: Tensor, weight: Tensor, bias: Tensor, running_mean: Tensor, running_var: Tensor) -> Triple:
    """The mean square in place of the variance."""
    mean, _ = _moments(x)
    return _all(x, weight, bias, running_mean, running_var, mean, _channels(x).square().mean(-1))


def image_alone(x: Tensor, weight: Tensor, bias: Tensor, running_mean: Tensor, running_var: Tensor) -> Triple:
    """Mean and variance of the first image alone."""
    return _all(x, weight, bias, running_mean, running_var, *_moments(x[:1]))


def last_element_unseen(x: Tensor, weight: Tensor, bias: Tensor, running_mean: Tensor, running_var: Tensor) -> Triple:
    """The last element of a channel enters neither mean nor variance."""
    rows = _channels(x)[:, :-1]
    mean = rows.mean(-1)
    variance = (rows - mean[:, None]).square().mean(-1)
    return _all(x, weight, bias, running_mean, running_var, mean, variance)


def no_weight(x: Tensor, weight: Tensor, bias: Tensor, running_mean: Tensor, running_var: Tensor) -> Triple:
    """The scale is left out."""
    return _all(x, torch.ones_like(weight), bias, running_mean, running_var, *_moments(x))


def no_bias(x: Tensor, weight: Tensor, bias: Tensor, running_mean: Tensor, running_var: Tensor) -> Triple:
    """The offset is left out."""
    return _all(x, weight, torch.zeros_like(bias), running_mean, running_var, *_moments(x))


def cancelling_variance(x: Tensor, weight: Tensor, bias: Tensor, running_mean: Tensor, running_var: Tensor) -> Triple:
    """mean(x^2) - mean(x)^2 with both means rounded to bfloat16."""
    mean = _channels(x).mean(-1)
    square = _channels(x).square().mean(-1).bfloat16().float()
    variance = (square - mean.bfloat16().float().square()).clamp(min=0)
    return _all(x, weight, bias, running_mean, running_var, mean, variance)


def half_accumulators(x: Tensor, weight: Tensor, bias: Tensor, running_mean: Tensor, running_var: Tensor) -> Triple:
    """Mean and variance are summed in bfloat16, by eight lanes."""
    rows = _channels(x)
    mean = summed(rows, torch.bfloat16, lanes=8).float() / rows.shape[-1]
    variance = summed((rows - mean[:, None]).square(), torch.bfloat16, lanes=8).float() / rows.shape[-1]
    return _all(x, weight, bias, running_mean, running_var, mean, variance)


def tf32_inputs(x: Tensor, weight: Tensor, bias: Tensor, running_mean: Tensor, running_var: Tensor) -> Triple:
    """float32: the input passes through a TF32 unit on its way."""
    return _all(tf32(x), weight, bias, running_mean, running_var, *_moments(tf32(x)))


def last_channel_of_the_first(
    x: Tensor, weight: Tensor, bias: Tensor, running_mean: Tensor, running_var: Tensor
) -> Triple:
    """The last channel is divided by the deviation of the first."""
    mean, variance = _moments(x)
    _, new_mean, new_var = _all(x, weight, bias, running_mean, running_var, mean, variance)
    scale = torch.rsqrt(torch.cat((variance[:-1], variance[:1])) + EPSILON)
    return _normalise(x, weight, bias, mean, scale), new_mean, new_var


def equal_values_give_nan(x: Tensor, weight: Tensor, bias: Tensor, running_mean: Tensor, running_var: Tensor) -> Triple:
    """Equal values have a variance of nothing, by which they are divided: NaN, as for padding."""
    y, new_mean, new_var = two_pass(x, weight, bias, running_mean, running_var)
    is_blank = (x.amax((0, 2, 3)) == x.amin((0, 2, 3))) & (len(x) * x.shape[-2:].numel() > 1)
    return y.masked_fill(is_blank[:, None, None], torch.nan), new_mean, new_var


biased_in_the_statistics.dtypes = ("float32", "float16")
tf32_inputs.dtypes = eps_in_the_statistics.dtypes = ("float32",)

HONEST = (one_accumulator, two_pass, welford, sums_in_double, image_by_image)
MUTANTS = (
    unbiased_in_the_result, biased_in_the_statistics, momentum_the_other_way, statistics_not_updated,
    deviation_in_the_statistics, as_at_inference, with_the_updated_mean, eps_of_rmsnorm, eps_outside_the_root,
    eps_in_the_statistics, not_centred, image_alone, last_element_unseen, no_weight, no_bias, cancelling_variance,
    half_accumulators, tf32_inputs, last_channel_of_the_first,
    equal_values_give_nan,
)  # fmt: skip
