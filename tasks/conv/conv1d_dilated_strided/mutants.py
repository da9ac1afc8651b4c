"""Variants of the dilated convolution: honest ones that must pass and wrong ones that must fail."""

import torch
from torch.nn.functional import conv1d, pad

from robust_kbench.audit.emulated import multiplied, tf32

STRIDE, DILATION = 3, 4


def _windows(x: torch.Tensor, weight: torch.Tensor, stride: int = STRIDE, dilation: int = DILATION) -> torch.Tensor:
    """[batch, channels, out_length, taps] in float32."""
    return x.float().unfold(2, dilation * (weight.shape[2] - 1) + 1, stride)[..., ::dilation]


def _length(x: torch.Tensor, weight: torch.Tensor) -> int:
    return (x.shape[2] - DILATION * (weight.shape[2] - 1) - 1) // STRIDE + 1


def _columns(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """[batch, out_length, channels * taps]: one row of factors for each output place, in float32."""
    return _windows(x, weight).transpose(1, 2).flatten(2)


def _direct(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    return conv1d(x.float(), weight.float(), bias.float(), STRIDE, 0, DILATION).to(x.dtype)


def implicit_gemm(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """A product with sixteen terms at a time into float32 accumulators."""
    flat = multiplied(_columns(x, weight), weight.flatten(1).T)
    return (flat + bias.float()).transpose(1, 2).to(x.dtype)


def direct(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The library's float32 convolution."""
    return _direct(x, weight, bias)


def tap_by_tap(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """A shifted signal for each tap, added up in float32, starting from the bias."""
    reach = (_length(x, weight) - 1) * STRIDE + 1
    total = bias.float()[:, None]
    for tap in range(weight.shape[2]):
        part = x.float()[..., DILATION * tap : DILATION * tap + reach : STRIDE]
        total = total + torch.einsum("bci,oc->boi", part, weight[:, :, tap].float())
    return total.to(x.dtype)


def tf32_inputs(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """float32: cuDNN's default, factors rounded to TF32."""
    return _direct(tf32(x), tf32(weight), bias)


def half_accumulators(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Accumulators of the next lower class, after every four terms."""
    lower = torch.bfloat16 if x.dtype == torch.float32 else x.dtype
    flat = multiplied(_columns(x, weight), weight.flatten(1).T, lower, step=4)
    return (flat.float() + bias.float()).transpose(1, 2).to(x.dtype)


def taps_of_the_dtype(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Halves: each tap's part is rounded to the dtype before it is added."""
    parts = torch.einsum("bciu,ocu->boiu", _windows(x, weight), weight.float()).to(x.dtype)
    return (parts.float().sum(-1).to(x.dtype) + bias[:, None]).to(x.dtype)


def no_bias(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The bias is left out."""
    return _direct(x, weight, torch.zeros_like(bias))


def bias_twice(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The bias is the initial value, and added again at the end."""
    return _direct(x, weight, 2 * bias)


def flipped(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The mathematical convolution: the taps are in reversed order."""
    return _direct(x, weight.flip(2), bias)


def dilation_ignored(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The taps stand on neighbouring places."""
    windows = _windows(x, weight, dilation=1)[:, :, : _length(x, weight)]
    return (torch.einsum("bciu,ocu->boi", windows, weight.float()) + bias.float()[:, None]).to(x.dtype)


def stride_and_dilation_swapped(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """A stride of four and taps three places apart, zeros behind the end."""
    padded = pad(x.float(), (0, _length(x, weight) + 3))
    windows = _windows(padded, weight, stride=DILATION, dilation=STRIDE)[:, :, : _length(x, weight)]
    return (torch.einsum("bciu,ocu->boi", windows, weight.float()) + bias.float()[:, None]).to(x.dtype)


def stride_ignored(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Windows begin on neighbouring places."""
    windows = _windows(x, weight, stride=1)[:, :, : _length(x, weight)]
    return (torch.einsum("bciu,ocu->boi", windows, weight.float()) + bias.float()[:, None]).to(x.dtype)


def last_channel_lost(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The last input channel is left out."""
    kept = torch.cat((weight[:, :-1], torch.zeros_like(weight[:, -1:])), 1)
    return _direct(x, kept, bias)


def last_tap_lost(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The last tap of the last channel is left out."""
    kept = weight.clone()
    kept[:, -1, -1] = 0
    return _direct(x, kept, bias)


def last_window_half_read(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The last window's last place is taken to lie behind the end."""
    cut = x.clone()
    cut[..., (_length(x, weight) - 1) * STRIDE + DILATION * (weight.shape[2] - 1)] = 0
    return _direct(cut, weight, bias)


def last_filter_of_another(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The last filter adds the first one's bias."""
    return _direct(x, weight, torch.cat((bias[:-1], bias[:1])))


def shifted_by_one(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The signal starts one place too late."""
    return _direct(x.roll(1, -1), weight, bias)


def taps_for_channels(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The filter's memory is read as if the channels were the innermost axis."""
    turned = weight.reshape(len(weight), weight.shape[2], weight.shape[1]).transpose(1, 2)
    return _direct(x, turned, bias)


tf32_inputs.dtypes = ("float32",)
taps_of_the_dtype.dtypes = ("float16", "bfloat16")

HONEST = (implicit_gemm, direct, tap_by_tap)
MUTANTS = (
    tf32_inputs, half_accumulators, taps_of_the_dtype, no_bias, bias_twice, flipped, dilation_ignored,
    stride_and_dilation_swapped, stride_ignored, last_channel_lost, last_tap_lost, last_window_half_read,
    last_filter_of_another, shifted_by_one, taps_for_channels,
)  # fmt: skip
