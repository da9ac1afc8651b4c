"""Variants of the dilated transposed convolution: honest ones that must pass and wrong ones that must fail."""

import itertools

import torch
from torch.nn.functional import conv_transpose3d, pad

from robust_kbench.audit.emulated import multiplied, tf32

T = torch.Tensor
STRIDE, PADDING, DILATION = 2, 1, 2


def _parts(x: T, weight: T) -> T:
    """[batch, filters, three sizes of the kernel, depth, height, width] in float32: what each place adds."""
    return torch.einsum("bcxyz,couvw->bouvwxyz", x.float(), weight.float())


def _whole(parts: T, dilation: int = DILATION) -> T:
    """The sum of what reaches each output, nothing cut off."""
    kernel, volume = parts.shape[2:5], parts.shape[5:]
    sizes = [STRIDE * (size - 1) + dilation * (taps - 1) + 1 for size, taps in zip(volume, kernel, strict=True)]
    total = torch.zeros((*parts.shape[:2], *sizes))
    for place in itertools.product(*map(range, kernel)):
        u, v, w = (dilation * tap for tap in place)
        reached = total[:, :, u::STRIDE, v::STRIDE, w::STRIDE][:, :, : volume[0], : volume[1], : volume[2]]
        reached += parts[(slice(None), slice(None), *place)]
    return total


def _scattered(parts: T) -> T:
    """The sum of what reaches each output."""
    return _whole(parts)[:, :, 1:-1, 1:-1, 1:-1]


def _gathered(x: T, weight: T, dtype: torch.dtype, step: int) -> T:
    """Every output gathers its factors, zeros where there is none, into accumulators of `dtype`."""
    spread = torch.zeros((*x.shape[:2], *((size - 1) * STRIDE + 1 for size in x.shape[2:])))
    spread[:, :, ::STRIDE, ::STRIDE, ::STRIDE] = x.float()
    windows = pad(spread, [DILATION * (size - 1) - PADDING for size in reversed(weight.shape[2:]) for _ in range(2)])
    for dim in (2, 3, 4):
        windows = windows.unfold(dim, DILATION * (weight.shape[dim] - 1) + 1, 1)[..., ::DILATION]
    factors = windows.permute(0, 2, 3, 4, 1, 5, 6, 7).flatten(4).flatten(1, 3)
    matrix = weight.float().flip(2, 3, 4).permute(0, 2, 3, 4, 1).flatten(0, 3)
    total = multiplied(factors, matrix, dtype, step).float()
    return total.transpose(1, 2).unflatten(-1, windows.shape[2:5])


def _biased(total: T, bias: T, x: T) -> T:
    return (total + bias.float()[:, None, None, None]).to(x.dtype)


def _direct(x: T, weight: T, bias: T) -> T:
    y = conv_transpose3d(x.float(), weight.float(), bias.float(), STRIDE, PADDING, dilation=DILATION)
    return y.to(x.dtype)


def library(x: T, weight: T, bias: T) -> T:
    """The library's float32 operator."""
    return _direct(x, weight, bias)


def scattered(x: T, weight: T, bias: T) -> T:
    """Every place adds to the outputs that it reaches, tap by tap, in float32, the bias last."""
    return _biased(_scattered(_parts(x, weight)), bias, x)


def implicit_gemm(x: T, weight: T, bias: T) -> T:
    """Every output gathers its factors, sixteen terms at a time into float32 accumulators."""
    return _biased(_gathered(x, weight, torch.float32, 16), bias, x)


def dense_eighth(x: T, weight: T, bias: T) -> T:
    """Only outputs at odd places have products: a dense transposed convolution makes them, the others are the bias."""
    odd = conv_transpose3d(x.float(), weight.float(), bias.float(), padding=1)
    sizes = [2 * size + 1 for size in odd.shape[2:]]
    y = bias.float()[:, None, None, None].expand(len(x), -1, *sizes).clone()
    y[:, :, 1::2, 1::2, 1::2] = odd
    return y.to(x.dtype)


def tf32_inputs(x: T, weight: T, bias: T) -> T:
    """float32: cuDNN's default, factors rounded to TF32."""
    return _direct(tf32(x), tf32(weight), bias)


def half_accumulators(x: T, weight: T, bias: T) -> T:
    """Accumulators of the next lower class, after every eight terms."""
    lower = torch.bfloat16 if x.dtype == torch.float32 else x.dtype
    return _biased(_gathered(x, weight, lower, 8), bias, x)


def parts_of_the_dtype(x: T, weight: T, bias: T) -> T:
    """bfloat16: what each tap adds is rounded before it is added."""
    parts = _parts(x, weight).to(x.dtype).float()
    return _biased(_scattered(parts), bias, x)


def no_bias(x: T, weight: T, bias: T) -> T:
    """The bias is left out."""
    return _direct(x, weight, torch.zeros_like(bias))


def bias_twice(x: T, weight: T, bias: T) -> T:
    """The bias is the initial value, and added again at the end."""
    return _direct(x, weight, 2 * bias.float())


def not_mirrored(x: T, weight: T, bias: T) -> T:
    """The filters are used as those of an ordinary convolution: mirrored here."""
    return _direct(x, weight.flip(2, 3, 4), bias)


def dilation_ignored(x: T, weight: T, bias: T) -> T:
    """The filters' places are neighbours; what lies behind is the bias."""
    total = _whole(_parts(x, weight), 1)
    behind = [size for taps in reversed(weight.shape[2:]) for size in (0, taps - 1)]
    return _biased(pad(total, behind)[:, :, 1:-1, 1:-1, 1:-1], bias, x)


def nothing_cut_off_in_front(x: T, weight: T, bias: T) -> T:
    """All columns that are cut off are taken from the end."""
    return _biased(_whole(_parts(x, weight))[:, :, 1:-1, 1:-1, :-2], bias, x)


def no_bias_between(x: T, weight: T, bias: T) -> T:
    """Planes of outputs without products stay zero."""
    y = _direct(x, weight, bias)
    y[:, :, ::2] = 0
    return y


def filters_first(x: T, weight: T, bias: T) -> T:
    """The weight's memory is read as that of an ordinary convolution, [out_channels, in_channels, ...]."""
    turned = weight.reshape(weight.shape[1], weight.shape[0], *weight.shape[2:]).transpose(0, 1)
    return _direct(x, turned, bias)


def kernel_turned(x: T, weight: T, bias: T) -> T:
    """The kernel's depth and width are mistaken for each other."""
    return _direct(x, weight.transpose(2, 4).reshape(weight.shape), bias)


def last_channel_lost(x: T, weight: T, bias: T) -> T:
    """The last input channel is left out."""
    kept = weight.clone()
    kept[-1] = 0
    return _direct(x, kept, bias)


def corner_tap_lost(x: T, weight: T, bias: T) -> T:
    """The filters' last place, in the last channel, is left out."""
    kept = weight.clone()
    kept[-1, :, -1, -1, -1] = 0
    return _direct(x, kept, bias)


def last_plane_lost(x: T, weight: T, bias: T) -> T:
    """The last plane of the volume is not read."""
    cut = x.clone()
    cut[:, :, -1] = 0
    return _direct(cut, weight, bias)


def last_filter_of_another(x: T, weight: T, bias: T) -> T:
    """The last filter adds the first one's bias."""
    return _direct(x, weight, torch.cat((bias[:-1], bias[:1])))


def shifted_by_one(x: T, weight: T, bias: T) -> T:
    """Every output stands one column too far to the right."""
    total = _scattered(_parts(x, weight))
    return _biased(pad(total, (1, 0))[..., :-1], bias, x)


tf32_inputs.dtypes = ("float32",)
parts_of_the_dtype.dtypes = ("bfloat16",)

HONEST = (library, scattered, implicit_gemm, dense_eighth)
MUTANTS = (
    tf32_inputs, half_accumulators, parts_of_the_dtype, no_bias, bias_twice, not_mirrored, dilation_ignored,
    nothing_cut_off_in_front, no_bias_between, filters_first, kernel_turned, last_channel_lost, corner_tap_lost,
    last_plane_lost, last_filter_of_another, shifted_by_one,
)  # fmt: skip
