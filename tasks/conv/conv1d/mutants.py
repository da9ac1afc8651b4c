"""Variants of the convolution: honest ones that must pass and wrong ones that must fail."""

import torch
from torch.nn.functional import conv1d, pad

from robust_kbench.audit.emulated import multiplied, tf32


def _columns(x: torch.Tensor, weight: torch.Tensor, stride: int, padding: int) -> torch.Tensor:
    """[batch, out_length, channels * taps]: one row of factors for each output place, in float32."""
    windows = pad(x.float(), (padding, padding)).unfold(2, weight.shape[2], stride)
    return windows.transpose(1, 2).flatten(2)


def _direct(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int, padding: int) -> torch.Tensor:
    return conv1d(x.float(), weight.float(), bias.float(), stride, padding).to(x.dtype)


def implicit_gemm(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int, padding: int) -> torch.Tensor:
    """A product with sixteen terms at a time into float32 accumulators."""
    flat = multiplied(_columns(x, weight, stride, padding), weight.flatten(1).T)
    return (flat + bias.float()).transpose(1, 2).to(x.dtype)


def direct(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int, padding: int) -> torch.Tensor:
    """The library's float32 convolution."""
    return _direct(x, weight, bias, stride, padding)


def tap_by_tap(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int, padding: int) -> torch.Tensor:
    """A shifted signal for each tap, added up in float32, starting from the bias."""
    padded = pad(x.float(), (padding, padding))
    reach = (padded.shape[2] - weight.shape[2]) // stride * stride + 1
    total = bias.float()[:, None]
    for tap in range(weight.shape[2]):
        part = padded[..., tap : tap + reach : stride]
        total = total + torch.einsum("bci,oc->boi", part, weight[:, :, tap].float())
    return total.to(x.dtype)


def tf32_inputs(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int, padding: int) -> torch.Tensor:
    """float32: cuDNN's default, factors rounded to TF32."""
    return _direct(tf32(x), tf32(weight), bias, stride, padding)


def half_accumulators(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int, padding: int
) -> torch.Tensor:
    """Accumulators of the next lower class, after every four terms."""
    lower = torch.bfloat16 if x.dtype == torch.float32 else x.dtype
    flat = multiplied(_columns(x, weight, stride, padding), weight.flatten(1).T, lower, step=4)
    return (flat.float() + bias.float()).transpose(1, 2).to(x.dtype)


def taps_of_the_dtype(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int, padding: int
) -> torch.Tensor:
    """Halves: each tap's part is rounded to the dtype before it is added."""
    windows = pad(x.float(), (padding, padding)).unfold(2, weight.shape[2], stride)
    parts = torch.einsum("bciu,ocu->boiu", windows, weight.float()).to(x.dtype)
    return (parts.float().sum(-1).to(x.dtype) + bias[:, None]).to(x.dtype)


def no_bias(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int, padding: int) -> torch.Tensor:
    """The bias is left out."""
    return _direct(x, weight, torch.zeros_like(bias), stride, padding)


def bias_twice(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int, padding: int) -> torch.Tensor:
    """The bias is the initial value, and added again at the end."""
    return _direct(x, weight, 2 * bias, stride, padding)


def flipped(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int, padding: int) -> torch.Tensor:
    """The mathematical convolution: the taps are in reversed order."""
    return _direct(x, weight.flip(2), bias, stride, padding)


def edge_padding(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int, padding: int) -> torch.Tensor:
    """The margin repeats the first and the last value."""
    padded = pad(x.float(), (padding, padding), mode="replicate")
    return _direct(padded, weight, bias, stride, 0).to(x.dtype)


def last_channel_lost(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int, padding: int
) -> torch.Tensor:
    """The last input channel is left out."""
    kept = torch.cat((weight[:, :-1], torch.zeros_like(weight[:, -1:])), 1)
    return _direct(x, kept, bias, stride, padding)


def last_tap_lost(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int, padding: int) -> torch.Tensor:
    """The last tap of the last channel is left out."""
    kept = weight.clone()
    kept[:, -1, -1] = 0
    return _direct(x, kept, bias, stride, padding)


def last_place_lost(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int, padding: int
) -> torch.Tensor:
    """The last place of the signal is not read."""
    cut = x.clone()
    cut[..., -1] = 0
    return _direct(cut, weight, bias, stride, padding)


def last_filter_of_another(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int, padding: int
) -> torch.Tensor:
    """The last filter adds the first one's bias."""
    return _direct(x, weight, torch.cat((bias[:-1], bias[:1])), stride, padding)


def shifted_by_one(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int, padding: int
) -> torch.Tensor:
    """The signal starts one place too late."""
    return _direct(x.roll(1, -1), weight, bias, stride, padding)


def taps_for_channels(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int, padding: int
) -> torch.Tensor:
    """The filter's memory is read as if the channels were the innermost axis."""
    turned = weight.reshape(len(weight), weight.shape[2], weight.shape[1]).transpose(1, 2)
    return _direct(x, turned, bias, stride, padding)


tf32_inputs.dtypes = ("float32",)
taps_of_the_dtype.dtypes = ("float16", "bfloat16")

HONEST = (implicit_gemm, direct, tap_by_tap)
MUTANTS = (
    tf32_inputs, half_accumulators, taps_of_the_dtype, no_bias, bias_twice, flipped, edge_padding, last_channel_lost,
    last_tap_lost, last_place_lost, last_filter_of_another, shifted_by_one, taps_for_channels,
)  # fmt: skip
