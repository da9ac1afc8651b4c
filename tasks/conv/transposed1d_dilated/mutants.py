"""Variants of the transposed convolution: honest ones that must pass and wrong ones that must fail."""

import torch
from torch.nn.functional import conv_transpose1d, pad

from robust_kbench.audit.emulated import multiplied, tf32

DILATION = 3


def _parts(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """[batch, filters, taps, length] in float32: what each place adds to the outputs that it reaches."""
    return torch.einsum("bci,cot->boti", x.float(), weight.float())


def _scattered(parts: torch.Tensor, dilation: int = DILATION) -> torch.Tensor:
    """The sum of what reaches each output."""
    taps, length = parts.shape[2:]
    total = torch.zeros((*parts.shape[:2], length + dilation * (taps - 1)))
    for tap in range(taps):
        total[..., dilation * tap : dilation * tap + length] += parts[:, :, tap]
    return total


def _biased(total: torch.Tensor, bias: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return (total + bias.float()[:, None]).to(x.dtype)


def _direct(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    return conv_transpose1d(x.float(), weight.float(), bias.float(), dilation=DILATION).to(x.dtype)


def _columns(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """[batch, out_length, channels * taps] in float32: a row of factors for each output, zeros where there is none."""
    reach = DILATION * (weight.shape[2] - 1)
    windows = pad(x.float(), (reach, reach)).unfold(2, reach + 1, 1)[..., ::DILATION]
    return windows.transpose(1, 2).flatten(2)


def _matrix(weight: torch.Tensor) -> torch.Tensor:
    """[channels * taps, filters] in float32, the taps mirrored."""
    return weight.float().flip(2).transpose(1, 2).flatten(0, 1)


def library(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The library's float32 operator."""
    return _direct(x, weight, bias)


def scattered(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Every place adds to the outputs that it reaches, tap by tap, in float32, the bias last."""
    return _biased(_scattered(_parts(x, weight)), bias, x)


def implicit_gemm(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Every output gathers its factors, sixteen terms at a time into float32 accumulators."""
    return _biased(multiplied(_columns(x, weight), _matrix(weight)).transpose(1, 2), bias, x)


def tf32_inputs(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """float32: cuDNN's default, factors rounded to TF32."""
    return _direct(tf32(x), tf32(weight), bias)


def half_accumulators(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Accumulators of the next lower class, after every four terms."""
    lower = torch.bfloat16 if x.dtype == torch.float32 else x.dtype
    total = multiplied(_columns(x, weight), _matrix(weight), lower, step=4).transpose(1, 2)
    return _biased(total.float(), bias, x)


def parts_of_the_dtype(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """bfloat16: what each tap adds is rounded before it is added."""
    return _biased(_scattered(_parts(x, weight).to(x.dtype).float()), bias, x)


def no_bias(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The bias is left out."""
    return _direct(x, weight, torch.zeros_like(bias))


def bias_twice(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The bias is the initial value, and added again at the end."""
    return _direct(x, weight, 2 * bias.float())


def not_mirrored(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The taps are in reversed order."""
    return _direct(x, weight.flip(2), bias)


def overwritten(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Where taps of two places meet, the last one is written and not added."""
    parts = _parts(x, weight)
    total = _scattered(parts)
    for tap in range(parts.shape[2]):
        total[..., DILATION * tap : DILATION * tap + x.shape[2]] = parts[:, :, tap]
    return _biased(total, bias, x)


def dilation_ignored(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The taps stand on neighbouring places; what lies behind is the bias."""
    total = _scattered(_parts(x, weight), 1)
    return _biased(pad(total, (0, (DILATION - 1) * (weight.shape[2] - 1))), bias, x)


def dilation_of_two(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Two zeros between the taps are taken to mean that they stand two places apart."""
    total = _scattered(_parts(x, weight), 2)
    return _biased(pad(total, (0, weight.shape[2] - 1)), bias, x)


def tail_without_bias(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The bias is added to as many outputs as the signal has places."""
    total = _scattered(_parts(x, weight))
    total[..., : x.shape[2]] += bias.float()[:, None]
    return total.to(x.dtype)


def last_channel_lost(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The last input channel is left out."""
    kept = weight.clone()
    kept[-1] = 0
    return _direct(x, kept, bias)


def last_tap_lost(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The last tap of the last channel is left out."""
    kept = weight.clone()
    kept[-1, :, -1] = 0
    return _direct(x, kept, bias)


def last_place_lost(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The last place of the signal is not read."""
    cut = x.clone()
    cut[..., -1] = 0
    return _direct(cut, weight, bias)


def last_filter_of_another(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The last filter adds the first one's bias."""
    return _direct(x, weight, torch.cat((bias[:-1], bias[:1])))


def shifted_by_one(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Every output stands one place too late."""
    return _biased(pad(_scattered(_parts(x, weight)), (1, 0))[..., :-1], bias, x)


def filters_first(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The weight's memory is read as that of an ordinary convolution, [out_channels, in_channels, taps]."""
    turned = weight.reshape(weight.shape[1], weight.shape[0], -1).transpose(0, 1)
    return _direct(x, turned, bias)


tf32_inputs.dtypes = ("float32",)
parts_of_the_dtype.dtypes = ("bfloat16",)

HONEST = (library, scattered, implicit_gemm)
MUTANTS = (
    tf32_inputs, half_accumulators, parts_of_the_dtype, no_bias, bias_twice, not_mirrored, overwritten,
    dilation_ignored, dilation_of_two, tail_without_bias, last_channel_lost, last_tap_lost, last_place_lost,
    last_filter_of_another, shifted_by_one, filters_first,
)  # fmt: skip
