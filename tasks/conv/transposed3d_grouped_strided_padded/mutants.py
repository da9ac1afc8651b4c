"""Variants of the grouped transposed convolution: honest ones that must pass and wrong ones that must fail."""

import itertools

import torch
from torch.nn.functional import conv_transpose3d, pad

from robust_kbench.audit.emulated import multiplied, tf32

T = torch.Tensor
STRIDE, PADDING, OUTPUT_PADDING = 2, (1, 2, 3), 1


def _parts(x: T, weight: T, num_groups: int) -> T:
    """[batch, filters, three sizes of the kernel, depth, height, width] in float32: what each place adds."""
    filters = weight.float().unflatten(0, (num_groups, -1))
    return torch.einsum("bgcxyz,gcouvw->bgouvwxyz", x.float().unflatten(1, (num_groups, -1)), filters).flatten(1, 2)


def _whole(parts: T) -> T:
    """The sum of what reaches each output, nothing cut off, with the outputs behind the last that are added."""
    kernel, volume = parts.shape[2:5], parts.shape[5:]
    sizes = [STRIDE * (size - 1) + taps + OUTPUT_PADDING for size, taps in zip(volume, kernel, strict=True)]
    total = torch.zeros((*parts.shape[:2], *sizes))
    for u, v, w in itertools.product(*map(range, kernel)):
        reached = total[:, :, u::STRIDE, v::STRIDE, w::STRIDE][:, :, : volume[0], : volume[1], : volume[2]]
        reached += parts[:, :, u, v, w]
    return total


def _scattered(parts: T) -> T:
    """The sum of what reaches each output."""
    return _whole(parts)[:, :, 1:-1, 2:-2, 3:-3]


def _gathered(x: T, weight: T, num_groups: int, dtype: torch.dtype, step: int) -> T:
    """Every output gathers its factors, zeros where there is none, into accumulators of `dtype`."""
    spread = torch.zeros((*x.shape[:2], *((size - 1) * STRIDE + 1 for size in x.shape[2:])))
    spread[:, :, ::STRIDE, ::STRIDE, ::STRIDE] = x.float()
    margins = []
    for size, padding in zip(reversed(weight.shape[2:]), reversed(PADDING), strict=True):
        margins += [size - 1 - padding, size - 1 - padding + OUTPUT_PADDING]
    windows = pad(spread, margins).unflatten(1, (num_groups, -1))
    for dim in (2, 3, 4):
        windows = windows.unfold(1 + dim, weight.shape[dim], 1)
    factors = windows.permute(0, 1, 3, 4, 5, 2, 6, 7, 8).flatten(5).flatten(2, 4)
    filters = weight.float().flip(2, 3, 4).unflatten(0, (num_groups, -1))
    matrix = filters.permute(0, 1, 3, 4, 5, 2).flatten(1, 4).expand(len(x), -1, -1, -1)
    total = multiplied(factors, matrix, dtype, step).float()
    return total.transpose(2, 3).unflatten(-1, windows.shape[3:6]).flatten(1, 2)


def _biased(total: T, bias: T, x: T) -> T:
    return (total + bias.float()[:, None, None, None]).to(x.dtype)


def _direct(x: T, weight: T, bias: T, num_groups: int) -> T:
    y = conv_transpose3d(x.float(), weight.float(), bias.float(), STRIDE, PADDING, OUTPUT_PADDING, num_groups)
    return y.to(x.dtype)


def library(x: T, weight: T, bias: T, num_groups: int) -> T:
    """The library's float32 operator."""
    return _direct(x, weight, bias, num_groups)


def scattered(x: T, weight: T, bias: T, num_groups: int) -> T:
    """Every place adds to the outputs that it reaches, tap by tap, in float32, the bias last."""
    return _biased(_scattered(_parts(x, weight, num_groups)), bias, x)


def implicit_gemm(x: T, weight: T, bias: T, num_groups: int) -> T:
    """Every output gathers its factors, sixteen terms at a time into float32 accumulators."""
    return _biased(_gathered(x, weight, num_groups, torch.float32, 16), bias, x)


def tf32_inputs(x: T, weight: T, bias: T, num_groups: int) -> T:
    """float32: cuDNN's default, factors rounded to TF32."""
    return _direct(tf32(x), tf32(weight), bias, num_groups)


def half_accumulators(x: T, weight: T, bias: T, num_groups: int) -> T:
    """Accumulators of the next lower class, after every eight terms."""
    lower = torch.bfloat16 if x.dtype == torch.float32 else x.dtype
    return _biased(_gathered(x, weight, num_groups, lower, 8), bias, x)


def parts_of_the_dtype(x: T, weight: T, bias: T, num_groups: int) -> T:
    """bfloat16: what each tap adds is rounded before it is added."""
    parts = _parts(x, weight, num_groups).to(x.dtype).float()
    return _biased(_scattered(parts), bias, x)


def no_bias(x: T, weight: T, bias: T, num_groups: int) -> T:
    """The bias is left out."""
    return _direct(x, weight, torch.zeros_like(bias), num_groups)


def bias_twice(x: T, weight: T, bias: T, num_groups: int) -> T:
    """The bias is the initial value, and added again at the end."""
    return _direct(x, weight, 2 * bias.float(), num_groups)


def not_mirrored(x: T, weight: T, bias: T, num_groups: int) -> T:
    """The filters are used as those of an ordinary convolution: mirrored here."""
    return _direct(x, weight.flip(2, 3, 4), bias, num_groups)


def no_output_padding(x: T, weight: T, bias: T, num_groups: int) -> T:
    """The last column of outputs, which the output padding adds, stays zero."""
    y = _direct(x, weight, bias, num_groups)
    y[..., -1] = 0
    return y


def output_padding_in_front(x: T, weight: T, bias: T, num_groups: int) -> T:
    """The output padding is added before the first column."""
    total = _whole(_parts(x, weight, num_groups))
    return _biased(total[:, :, 1:-1, 2:-2, 2:-4], bias, x)


def padding_of_the_depth(x: T, weight: T, bias: T, num_groups: int) -> T:
    """Rows are cut off as planes are: one in front, three at the end."""
    total = _whole(_parts(x, weight, num_groups))
    return _biased(total[:, :, 1:-1, 1:-3, 3:-3], bias, x)


def filters_of_the_first_group(x: T, weight: T, bias: T, num_groups: int) -> T:
    """All groups use the first one's filters."""
    first = weight[: len(weight) // num_groups].repeat(num_groups, 1, 1, 1, 1)
    return _direct(x, first, bias, num_groups)


def groups_interleaved(x: T, weight: T, bias: T, num_groups: int) -> T:
    """Channel c is taken to belong to group c modulo the number of groups."""
    moved = x.unflatten(1, (-1, num_groups)).transpose(1, 2).flatten(1, 2)
    return _direct(moved, weight, bias, num_groups)


def bias_of_the_first_group(x: T, weight: T, bias: T, num_groups: int) -> T:
    """All groups add the first one's bias."""
    return _direct(x, weight, bias[: len(bias) // num_groups].repeat(num_groups), num_groups)


def last_channel_lost(x: T, weight: T, bias: T, num_groups: int) -> T:
    """The last input channel is left out."""
    kept = weight.clone()
    kept[-1] = 0
    return _direct(x, kept, bias, num_groups)


def corner_tap_lost(x: T, weight: T, bias: T, num_groups: int) -> T:
    """The filters' last place, in the last channel, is left out."""
    kept = weight.clone()
    kept[-1, :, -1, -1, -1] = 0
    return _direct(x, kept, bias, num_groups)


def last_plane_lost(x: T, weight: T, bias: T, num_groups: int) -> T:
    """The last plane of the volume is not read."""
    cut = x.clone()
    cut[:, :, -1] = 0
    return _direct(cut, weight, bias, num_groups)


def last_filter_of_another(x: T, weight: T, bias: T, num_groups: int) -> T:
    """The last filter adds the first one's bias."""
    return _direct(x, weight, torch.cat((bias[:-1], bias[:1])), num_groups)


def shifted_by_one(x: T, weight: T, bias: T, num_groups: int) -> T:
    """Every output stands one column too far to the right."""
    total = _scattered(_parts(x, weight, num_groups))
    return _biased(pad(total, (1, 0))[..., :-1], bias, x)


tf32_inputs.dtypes = ("float32",)
parts_of_the_dtype.dtypes = ("bfloat16",)

HONEST = (library, scattered, implicit_gemm)
MUTANTS = (
    tf32_inputs, half_accumulators, parts_of_the_dtype, no_bias, bias_twice, not_mirrored, no_output_padding,
    output_padding_in_front, padding_of_the_depth, filters_of_the_first_group, groups_interleaved,
    bias_of_the_first_group, last_channel_lost, corner_tap_lost, last_plane_lost, last_filter_of_another,
    shifted_by_one,
)  # fmt: skip
