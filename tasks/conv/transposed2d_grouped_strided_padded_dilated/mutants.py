"""Variants of the grouped transposed convolution: honest ones that must pass and wrong ones that must fail."""

import torch
from torch.nn.functional import conv_transpose2d, pad

from robust_kbench.audit.emulated import multiplied, tf32

T = torch.Tensor
STRIDE, PADDING, DILATION = (2, 3), (1, 2), (2, 1)


def _parts(x: T, weight: T, num_groups: int) -> T:
    """[batch, filters, kernel_height, kernel_width, height, width] in float32: what each place adds to its outputs."""
    grouped = x.float().unflatten(1, (num_groups, -1))
    return torch.einsum("bgchw,gcouv->bgouvhw", grouped, weight.float().unflatten(0, (num_groups, -1))).flatten(1, 2)


def _whole(parts: T, dilation: tuple[int, int] = DILATION) -> T:
    """The sum of what reaches each output, nothing cut off."""
    rows, columns, height, width = parts.shape[2:]
    sizes = (
        STRIDE[0] * (height - 1) + dilation[0] * (rows - 1) + 1,
        STRIDE[1] * (width - 1) + dilation[1] * (columns - 1) + 1,
    )
    total = torch.zeros((*parts.shape[:2], *sizes))
    for u in range(rows):
        for v in range(columns):
            reached = total[:, :, dilation[0] * u :: STRIDE[0], dilation[1] * v :: STRIDE[1]]
            reached[:, :, :height, :width] += parts[:, :, u, v]
    return total


def _scattered(parts: T) -> T:
    """The sum of what reaches each output."""
    return _whole(parts)[:, :, PADDING[0] : -PADDING[0], PADDING[1] : -PADDING[1]]


def _biased(total: T, bias: T, x: T) -> T:
    return (total + bias.float()[:, None, None]).to(x.dtype)


def _direct(x: T, weight: T, bias: T, num_groups: int) -> T:
    y = conv_transpose2d(x.float(), weight.float(), bias.float(), STRIDE, PADDING, 0, num_groups, DILATION)
    return y.to(x.dtype)


def _gathered(x: T, weight: T, num_groups: int, dtype: torch.dtype, step: int) -> T:
    """Every output gathers its factors, zeros where there is none, into accumulators of `dtype`."""
    sizes = [(size - 1) * stride + 1 for size, stride in zip(x.shape[2:], STRIDE, strict=True)]
    spread = torch.zeros((*x.shape[:2], *sizes))
    spread[:, :, :: STRIDE[0], :: STRIDE[1]] = x.float()
    reach = [gap * (size - 1) for size, gap in zip(weight.shape[2:], DILATION, strict=True)]
    above, left = reach[0] - PADDING[0], reach[1] - PADDING[1]
    windows = pad(spread, (left, left, above, above)).unflatten(1, (num_groups, -1))
    windows = windows.unfold(3, reach[0] + 1, 1)[..., :: DILATION[0]].unfold(4, reach[1] + 1, 1)[..., :: DILATION[1]]
    factors = windows.permute(0, 1, 3, 4, 2, 5, 6).flatten(4).flatten(2, 3)
    filters = weight.float().flip(2, 3).unflatten(0, (num_groups, -1))
    matrix = filters.permute(0, 1, 3, 4, 2).flatten(1, 3).expand(len(x), -1, -1, -1)
    total = multiplied(factors, matrix, dtype, step).float()
    return total.transpose(2, 3).unflatten(-1, windows.shape[3:5]).flatten(1, 2)


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
    """Accumulators of the next lower class, after every four terms."""
    lower = torch.bfloat16 if x.dtype == torch.float32 else x.dtype
    return _biased(_gathered(x, weight, num_groups, lower, 4), bias, x)


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


def no_bias_between(x: T, weight: T, bias: T, num_groups: int) -> T:
    """Rows of outputs without products stay zero."""
    y = _direct(x, weight, bias, num_groups)
    y[:, :, ::2] = 0
    return y


def not_mirrored(x: T, weight: T, bias: T, num_groups: int) -> T:
    """The filters are used as those of an ordinary convolution: mirrored here."""
    return _direct(x, weight.flip(2, 3), bias, num_groups)


def filters_of_the_first_group(x: T, weight: T, bias: T, num_groups: int) -> T:
    """All groups use the first one's filters."""
    first = weight[: len(weight) // num_groups].repeat(num_groups, 1, 1, 1)
    return _direct(x, first, bias, num_groups)


def groups_interleaved(x: T, weight: T, bias: T, num_groups: int) -> T:
    """Channel c is taken to belong to group c modulo the number of groups."""
    moved = x.unflatten(1, (-1, num_groups)).transpose(1, 2).flatten(1, 2)
    return _direct(moved, weight, bias, num_groups)


def last_group_of_another(x: T, weight: T, bias: T, num_groups: int) -> T:
    """The last group of outputs repeats the first one's products."""
    y = _direct(x.float(), weight, torch.zeros_like(bias), num_groups).unflatten(1, (num_groups, -1))
    repeated = torch.cat((y[:, :-1], y[:, :1]), 1) if num_groups > 1 else y.flip(2)
    return _biased(repeated.flatten(1, 2), bias, x)


def bias_of_the_first_group(x: T, weight: T, bias: T, num_groups: int) -> T:
    """All groups add the first one's bias."""
    return _direct(x, weight, bias[: len(bias) // num_groups].repeat(num_groups), num_groups)


def dilation_ignored(x: T, weight: T, bias: T, num_groups: int) -> T:
    """The filters' rows stand on neighbouring places; what lies behind is the bias."""
    total = pad(_whole(_parts(x, weight, num_groups), (1, 1)), (0, 0, 0, weight.shape[2] - 1))
    return _biased(total[:, :, PADDING[0] : -PADDING[0], PADDING[1] : -PADDING[1]], bias, x)


def padding_of_the_rows(x: T, weight: T, bias: T, num_groups: int) -> T:
    """In front, as many columns are cut off as rows."""
    total = _whole(_parts(x, weight, num_groups))
    return _biased(total[:, :, PADDING[0] : -PADDING[0], 1:-3], bias, x)


def last_channel_lost(x: T, weight: T, bias: T, num_groups: int) -> T:
    """The last input channel of the last group is left out."""
    kept = weight.clone()
    kept[-1] = 0
    return _direct(x, kept, bias, num_groups)


def corner_tap_lost(x: T, weight: T, bias: T, num_groups: int) -> T:
    """The filters' first place, in the last channel, is left out."""
    kept = weight.clone()
    kept[-1, :, 0, 0] = 0
    return _direct(x, kept, bias, num_groups)


def last_column_lost(x: T, weight: T, bias: T, num_groups: int) -> T:
    """The last column of the image is not read."""
    cut = x.clone()
    cut[..., -1] = 0
    return _direct(cut, weight, bias, num_groups)


tf32_inputs.dtypes = ("float32",)
parts_of_the_dtype.dtypes = ("bfloat16",)

HONEST = (library, scattered, implicit_gemm)
MUTANTS = (
    tf32_inputs, half_accumulators, parts_of_the_dtype, no_bias, bias_twice, no_bias_between, not_mirrored,
    filters_of_the_first_group, groups_interleaved, last_group_of_another, bias_of_the_first_group, dilation_ignored,
    padding_of_the_rows, last_channel_lost, corner_tap_lost, last_column_lost,
)  # fmt: skip
