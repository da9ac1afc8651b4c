"""Variants of the transposed convolution: honest ones that must pass and wrong ones that must fail."""

import torch
from torch.nn.functional import conv_transpose1d, pad

from robust_kbench.audit.emulated import multiplied, tf32


def _parts(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """[batch, filters, taps, length] in float32: what each place adds to the outputs that it reaches."""
    return torch.einsum("bci,cot->boti", x.float(), weight.float())


def _scattered(parts: torch.Tensor, stride: int) -> torch.Tensor:
    """The sum of what reaches each output."""
    taps, length = parts.shape[2:]
    total = torch.zeros((*parts.shape[:2], (length - 1) * stride + taps))
    for tap in range(taps):
        total[..., tap : tap + (length - 1) * stride + 1 : stride] += parts[:, :, tap]
    return total


def _biased(total: torch.Tensor, bias: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return (total + bias.float()[:, None]).to(x.dtype)


def _direct(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int) -> torch.Tensor:
    return conv_transpose1d(x.float(), weight.float(), bias.float(), stride).to(x.dtype)


def _columns(x: torch.Tensor, weight: torch.Tensor, stride: int) -> torch.Tensor:
    """[batch, out_length, channels * taps] in float32: a row of factors for each output, zeros where there is none."""
    reach = weight.shape[2] - 1
    spread = torch.zeros((*x.shape[:2], (x.shape[2] - 1) * stride + 1))
    spread[..., ::stride] = x.float()
    return pad(spread, (reach, reach)).unfold(2, reach + 1, 1).transpose(1, 2).flatten(2)


def _matrix(weight: torch.Tensor) -> torch.Tensor:
    """[channels * taps, filters] in float32, the taps mirrored."""
    return weight.float().flip(2).transpose(1, 2).flatten(0, 1)


def library(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int) -> torch.Tensor:
    """The library's float32 operator."""
    return _direct(x, weight, bias, stride)


def scattered(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int) -> torch.Tensor:
    """Every place adds to the outputs that it reaches, tap by tap, in float32, the bias last."""
    return _biased(_scattered(_parts(x, weight), stride), bias, x)


def implicit_gemm(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int) -> torch.Tensor:
    """Every output gathers its factors, sixteen terms at a time into float32 accumulators."""
    total = multiplied(_columns(x, weight, stride), _matrix(weight)).transpose(1, 2)
    return _biased(total, bias, x)


def tf32_inputs(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int) -> torch.Tensor:
    """float32: cuDNN's default, factors rounded to TF32."""
    return _direct(tf32(x), tf32(weight), bias, stride)


def half_accumulators(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int) -> torch.Tensor:
    """Accumulators of the next lower class, after every four terms."""
    lower = torch.bfloat16 if x.dtype == torch.float32 else x.dtype
    total = multiplied(_columns(x, weight, stride), _matrix(weight), lower, step=4).transpose(1, 2)
    return _biased(total.float(), bias, x)


def parts_of_the_dtype(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int) -> torch.Tensor:
    """bfloat16: what each tap adds is rounded before it is added."""
    return _biased(_scattered(_parts(x, weight).to(x.dtype).float(), stride), bias, x)


def no_bias(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int) -> torch.Tensor:
    """The bias is left out."""
    return _direct(x, weight, torch.zeros_like(bias), stride)


def bias_twice(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int) -> torch.Tensor:
    """The bias is the initial value, and added again at the end."""
    return _direct(x, weight, 2 * bias.float(), stride)


def not_mirrored(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int) -> torch.Tensor:
    """The taps are in reversed order."""
    return _direct(x, weight.flip(2), bias, stride)


def overwritten(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int) -> torch.Tensor:
    """Where taps of two places meet, the last one is written and not added."""
    parts = _parts(x, weight)
    taps, length = parts.shape[2:]
    total = torch.zeros((*parts.shape[:2], (length - 1) * stride + taps))
    for tap in range(taps):
        total[..., tap : tap + (length - 1) * stride + 1 : stride] = parts[:, :, tap]
    return _biased(total, bias, x)


def last_channel_lost(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int) -> torch.Tensor:
    """The last input channel is left out."""
    kept = weight.clone()
    kept[-1] = 0
    return _direct(x, kept, bias, stride)


def last_tap_lost(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int) -> torch.Tensor:
    """The last tap of the last channel is left out."""
    kept = weight.clone()
    kept[-1, :, -1] = 0
    return _direct(x, kept, bias, stride)


def last_place_lost(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int) -> torch.Tensor:
    """The last place of the signal is not read."""
    cut = x.clone()
    cut[..., -1] = 0
    return _direct(cut, weight, bias, stride)


def tail_without_bias(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int) -> torch.Tensor:
    """The bias is added to as many outputs as the signal has places."""
    total = _scattered(_parts(x, weight), stride)
    biased = total + bias.float()[:, None]
    return torch.cat((biased[..., : x.shape[2]], total[..., x.shape[2] :]), -1).to(x.dtype)


def last_filter_of_another(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int) -> torch.Tensor:
    """The last filter adds the first one's bias."""
    return _direct(x, weight, torch.cat((bias[:-1], bias[:1])), stride)


def shifted_by_one(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int) -> torch.Tensor:
    """Every output stands one place too late."""
    total = _scattered(_parts(x, weight), stride)
    return _biased(pad(total, (1, 0))[..., :-1], bias, x)


def filters_first(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int) -> torch.Tensor:
    """The weight's memory is read as that of an ordinary convolution, [out_channels, in_channels, taps]."""
    turned = weight.reshape(weight.shape[1], weight.shape[0], -1).transpose(0, 1)
    return _direct(x, turned, bias, stride)


tf32_inputs.dtypes = ("float32",)
parts_of_the_dtype.dtypes = ("bfloat16",)

HONEST = (library, scattered, implicit_gemm)
MUTANTS = (
    tf32_inputs, half_accumulators, parts_of_the_dtype, no_bias, bias_twice, not_mirrored, overwritten,
    last_channel_lost, last_tap_lost, last_place_lost, tail_without_bias, last_filter_of_another, shifted_by_one,
    filters_first,
)  # fmt: skip
