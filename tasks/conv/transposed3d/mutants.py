"""Variants of the transposed convolution of volumes: honest ones that must pass and wrong ones that must fail."""

import itertools

import torch
from torch.nn.functional import conv_transpose3d, pad

from robust_kbench.audit.emulated import multiplied, tf32

T = torch.Tensor


def _parts(x: T, weight: T) -> T:
    """[batch, filters, three sizes of the kernel, depth, height, width] in float32: what each place adds."""
    return torch.einsum("bcxyz,couvw->bouvwxyz", x.float(), weight.float())


def _scattered(parts: T, stride: int, *, adds: bool = True) -> T:
    """The sum of what reaches each output."""
    kernel, volume = parts.shape[2:5], parts.shape[5:]
    sizes = [stride * (size - 1) + taps for size, taps in zip(volume, kernel, strict=True)]
    total = torch.zeros((*parts.shape[:2], *sizes))
    for u, v, w in itertools.product(*map(range, kernel)):
        reached = total[:, :, u::stride, v::stride, w::stride][:, :, : volume[0], : volume[1], : volume[2]]
        reached.copy_(reached + parts[:, :, u, v, w] if adds else parts[:, :, u, v, w])
    return total


def _gathered(x: T, weight: T, stride: int, dtype: torch.dtype, step: int) -> T:
    """Every output gathers its factors, zeros where there is none, into accumulators of `dtype`."""
    spread = torch.zeros((*x.shape[:2], *((size - 1) * stride + 1 for size in x.shape[2:])))
    spread[:, :, ::stride, ::stride, ::stride] = x.float()
    windows = pad(spread, [size - 1 for size in reversed(weight.shape[2:]) for _ in range(2)])
    for dim in (2, 3, 4):
        windows = windows.unfold(dim, weight.shape[dim], 1)
    factors = windows.permute(0, 2, 3, 4, 1, 5, 6, 7).flatten(4).flatten(1, 3)
    matrix = weight.float().flip(2, 3, 4).permute(0, 2, 3, 4, 1).flatten(0, 3)
    total = multiplied(factors, matrix, dtype, step).float()
    return total.transpose(1, 2).unflatten(-1, windows.shape[2:5])


def _biased(total: T, bias: T, x: T) -> T:
    return (total + bias.float()[:, None, None, None]).to(x.dtype)


def _direct(x: T, weight: T, bias: T, stride: int) -> T:
    return conv_transpose3d(x.float(), weight.float(), bias.float(), stride).to(x.dtype)


def library(x: T, weight: T, bias: T, stride: int) -> T:
    """The library's float32 operator."""
    return _direct(x, weight, bias, stride)


def scattered(x: T, weight: T, bias: T, stride: int) -> T:
    """Every place adds to the outputs that it reaches, tap by tap, in float32, the bias last."""
    return _biased(_scattered(_parts(x, weight), stride), bias, x)


def implicit_gemm(x: T, weight: T, bias: T, stride: int) -> T:
    """Every output gathers its factors, sixteen terms at a time into float32 accumulators."""
    return _biased(_gathered(x, weight, stride, torch.float32, 16), bias, x)


def tf32_inputs(x: T, weight: T, bias: T, stride: int) -> T:
    """float32: cuDNN's default, factors rounded to TF32."""
    return _direct(tf32(x), tf32(weight), bias, stride)


def half_accumulators(x: T, weight: T, bias: T, stride: int) -> T:
    """Accumulators of the next lower class, after every eight terms."""
    lower = torch.bfloat16 if x.dtype == torch.float32 else x.dtype
    return _biased(_gathered(x, weight, stride, lower, 8), bias, x)


def parts_of_the_dtype(x: T, weight: T, bias: T, stride: int) -> T:
    """bfloat16: what each tap adds is rounded before it is added."""
    parts = _parts(x, weight).to(x.dtype).float()
    return _biased(_scattered(parts, stride), bias, x)


def no_bias(x: T, weight: T, bias: T, stride: int) -> T:
    """The bias is left out."""
    return _direct(x, weight, torch.zeros_like(bias), stride)


def bias_twice(x: T, weight: T, bias: T, stride: int) -> T:
    """The bias is the initial value, and added again at the end."""
    return _direct(x, weight, 2 * bias.float(), stride)


def not_mirrored(x: T, weight: T, bias: T, stride: int) -> T:
    """The filters are used as those of an ordinary convolution: mirrored here."""
    return _direct(x, weight.flip(2, 3, 4), bias, stride)


def overwritten(x: T, weight: T, bias: T, stride: int) -> T:
    """Where taps of two places meet, the last one is written and not added."""
    return _biased(_scattered(_parts(x, weight), stride, adds=False), bias, x)


def last_plane_without_bias(x: T, weight: T, bias: T, stride: int) -> T:
    """The last plane of outputs misses the bias."""
    total = _scattered(_parts(x, weight), stride)
    total[:, :, :-1] += bias.float()[:, None, None, None]
    return total.to(x.dtype)


def filters_first(x: T, weight: T, bias: T, stride: int) -> T:
    """The weight's memory is read as that of an ordinary convolution, [out_channels, in_channels, ...]."""
    turned = weight.reshape(weight.shape[1], weight.shape[0], *weight.shape[2:]).transpose(0, 1)
    return _direct(x, turned, bias, stride)


def kernel_turned(x: T, weight: T, bias: T, stride: int) -> T:
    """The kernel's depth and width are mistaken for each other."""
    return _direct(x, weight.transpose(2, 4).reshape(weight.shape), bias, stride)


def last_channel_lost(x: T, weight: T, bias: T, stride: int) -> T:
    """The last input channel is left out."""
    kept = weight.clone()
    kept[-1] = 0
    return _direct(x, kept, bias, stride)


def corner_tap_lost(x: T, weight: T, bias: T, stride: int) -> T:
    """The filters' last place, in the last channel, is left out."""
    kept = weight.clone()
    kept[-1, :, -1, -1, -1] = 0
    return _direct(x, kept, bias, stride)


def last_plane_lost(x: T, weight: T, bias: T, stride: int) -> T:
    """The last plane of the volume is not read."""
    cut = x.clone()
    cut[:, :, -1] = 0
    return _direct(cut, weight, bias, stride)


def last_filter_of_another(x: T, weight: T, bias: T, stride: int) -> T:
    """The last filter adds the first one's bias."""
    return _direct(x, weight, torch.cat((bias[:-1], bias[:1])), stride)


def shifted_by_one(x: T, weight: T, bias: T, stride: int) -> T:
    """Every output stands one column too far to the right."""
    total = _scattered(_parts(x, weight), stride)
    return _biased(pad(total, (1, 0))[..., :-1], bias, x)


tf32_inputs.dtypes = ("float32",)
parts_of_the_dtype.dtypes = ("bfloat16",)

HONEST = (library, scattered, implicit_gemm)
MUTANTS = (
    tf32_inputs, half_accumulators, parts_of_the_dtype, no_bias, bias_twice, not_mirrored, overwritten,
    last_plane_without_bias, filters_first, kernel_turned, last_channel_lost, corner_tap_lost, last_plane_lost,
    last_filter_of_another, shifted_by_one,
)  # fmt: skip
