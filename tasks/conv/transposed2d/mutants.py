"""Variants of the transposed convolution: honest ones that must pass and wrong ones that must fail."""

import torch
from torch.nn.functional import conv_transpose2d, pad

from robust_kbench.audit.emulated import multiplied, tf32

T = torch.Tensor


def _parts(x: T, weight: T) -> T:
    """[batch, filters, kernel_height, kernel_width, height, width] in float32: what each place adds to its outputs."""
    return torch.einsum("bchw,couv->bouvhw", x.float(), weight.float())


def _scattered(parts: T, stride: int, padding: int, *, adds: bool = True) -> T:
    """The sum of what reaches each output, the outermost ones cut off."""
    rows, columns, height, width = parts.shape[2:]
    total = torch.zeros((*parts.shape[:2], (height - 1) * stride + rows, (width - 1) * stride + columns))
    for u in range(rows):
        for v in range(columns):
            reached = total[:, :, u::stride, v::stride][:, :, :height, :width]
            reached.copy_(reached + parts[:, :, u, v] if adds else parts[:, :, u, v])
    return total[:, :, padding : total.shape[2] - padding, padding : total.shape[3] - padding]


def _biased(total: T, bias: T, x: T) -> T:
    return (total + bias.float()[:, None, None]).to(x.dtype)


def _direct(x: T, weight: T, bias: T, stride: int, padding: int) -> T:
    return conv_transpose2d(x.float(), weight.float(), bias.float(), stride, padding).to(x.dtype)


def _gathered(x: T, weight: T, stride: int, padding: int, dtype: torch.dtype, step: int) -> T:
    """Every output gathers its factors, zeros where there is none, into accumulators of `dtype`."""
    rows, columns = weight.shape[2:]
    spread = torch.zeros((*x.shape[:2], *((size - 1) * stride + 1 for size in x.shape[2:])))
    spread[:, :, ::stride, ::stride] = x.float()
    above, left = rows - 1 - padding, columns - 1 - padding
    windows = pad(spread, (left, left, above, above)).unfold(2, rows, 1).unfold(3, columns, 1)
    factors = windows.permute(0, 2, 3, 1, 4, 5).flatten(3).flatten(1, 2)
    matrix = weight.float().flip(2, 3).permute(0, 2, 3, 1).flatten(0, 2)
    total = multiplied(factors, matrix, dtype, step).float()
    return total.transpose(1, 2).unflatten(-1, windows.shape[2:4])


def library(x: T, weight: T, bias: T, stride: int, padding: int) -> T:
    """The library's float32 operator."""
    return _direct(x, weight, bias, stride, padding)


def scattered(x: T, weight: T, bias: T, stride: int, padding: int) -> T:
    """Every place adds to the outputs that it reaches, tap by tap, in float32, the bias last."""
    return _biased(_scattered(_parts(x, weight), stride, padding), bias, x)


def implicit_gemm(x: T, weight: T, bias: T, stride: int, padding: int) -> T:
    """Every output gathers its factors, sixteen terms at a time into float32 accumulators."""
    return _biased(_gathered(x, weight, stride, padding, torch.float32, 16), bias, x)


def tf32_inputs(x: T, weight: T, bias: T, stride: int, padding: int) -> T:
    """float32: cuDNN's default, factors rounded to TF32."""
    return _direct(tf32(x), tf32(weight), bias, stride, padding)


def half_accumulators(x: T, weight: T, bias: T, stride: int, padding: int) -> T:
    """Accumulators of the next lower class, after every four terms."""
    lower = torch.bfloat16 if x.dtype == torch.float32 else x.dtype
    return _biased(_gathered(x, weight, stride, padding, lower, 4), bias, x)


def parts_of_the_dtype(x: T, weight: T, bias: T, stride: int, padding: int) -> T:
    """bfloat16: what each tap adds is rounded before it is added."""
    parts = _parts(x, weight).to(x.dtype).float()
    return _biased(_scattered(parts, stride, padding), bias, x)


def no_bias(x: T, weight: T, bias: T, stride: int, padding: int) -> T:
    """The bias is left out."""
    return _direct(x, weight, torch.zeros_like(bias), stride, padding)


def bias_twice(x: T, weight: T, bias: T, stride: int, padding: int) -> T:
    """The bias is the initial value, and added again at the end."""
    return _direct(x, weight, 2 * bias.float(), stride, padding)


def not_mirrored(x: T, weight: T, bias: T, stride: int, padding: int) -> T:
    """The filters are used as those of an ordinary convolution: mirrored here."""
    return _direct(x, weight.flip(2, 3), bias, stride, padding)


def overwritten(x: T, weight: T, bias: T, stride: int, padding: int) -> T:
    """Where taps of two places meet, the last one is written and not added."""
    return _biased(_scattered(_parts(x, weight), stride, padding, adds=False), bias, x)


def nothing_cut_off_in_front(x: T, weight: T, bias: T, stride: int, padding: int) -> T:
    """All rows and columns that are cut off are taken from the far ends."""
    total = _scattered(_parts(x, weight), stride, 0)
    height, width = total.shape[2] - 2 * padding, total.shape[3] - 2 * padding
    return _biased(total[:, :, :height, :width], bias, x)


def last_channel_lost(x: T, weight: T, bias: T, stride: int, padding: int) -> T:
    """The last input channel is left out."""
    kept = weight.clone()
    kept[-1] = 0
    return _direct(x, kept, bias, stride, padding)


def corner_tap_lost(x: T, weight: T, bias: T, stride: int, padding: int) -> T:
    """The filters' last place, in the last channel, is left out."""
    kept = weight.clone()
    kept[-1, :, -1, -1] = 0
    return _direct(x, kept, bias, stride, padding)


def last_column_lost(x: T, weight: T, bias: T, stride: int, padding: int) -> T:
    """The last column of the image is not read."""
    cut = x.clone()
    cut[..., -1] = 0
    return _direct(cut, weight, bias, stride, padding)


def last_row_without_bias(x: T, weight: T, bias: T, stride: int, padding: int) -> T:
    """The last row of outputs misses the bias."""
    total = _scattered(_parts(x, weight), stride, padding)
    total[:, :, :-1] += bias.float()[:, None, None]
    return total.to(x.dtype)


def last_filter_of_another(x: T, weight: T, bias: T, stride: int, padding: int) -> T:
    """The last filter adds the first one's bias."""
    return _direct(x, weight, torch.cat((bias[:-1], bias[:1])), stride, padding)


def shifted_by_one(x: T, weight: T, bias: T, stride: int, padding: int) -> T:
    """Every output stands one column too far to the right."""
    total = _scattered(_parts(x, weight), stride, padding)
    return _biased(pad(total, (1, 0))[..., :-1], bias, x)


def filters_first(x: T, weight: T, bias: T, stride: int, padding: int) -> T:
    """The weight's memory is read as that of an ordinary convolution, [out_channels, in_channels, ...]."""
    turned = weight.reshape(weight.shape[1], weight.shape[0], *weight.shape[2:]).transpose(0, 1)
    return _direct(x, turned, bias, stride, padding)


def kernel_transposed(x: T, weight: T, bias: T, stride: int, padding: int) -> T:
    """The kernel's rows and columns are mistaken for each other."""
    return _direct(x, weight.transpose(2, 3).reshape(weight.shape), bias, stride, padding)


tf32_inputs.dtypes = ("float32",)
parts_of_the_dtype.dtypes = ("bfloat16",)

HONEST = (library, scattered, implicit_gemm)
MUTANTS = (
    tf32_inputs, half_accumulators, parts_of_the_dtype, no_bias, bias_twice, not_mirrored, overwritten,
    nothing_cut_off_in_front, last_channel_lost, corner_tap_lost, last_column_lost, last_row_without_bias,
    last_filter_of_another, shifted_by_one, filters_first, kernel_transposed,
)  # fmt: skip
