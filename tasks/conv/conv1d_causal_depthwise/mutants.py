"""Variants of the causal convolution: honest ones that must pass and wrong ones that must fail."""

import torch
from torch.nn.functional import conv1d, pad

from robust_kbench.audit.emulated import summed, tf32


def _products(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """[batch, channels, length, taps] in float32."""
    taps = weight.shape[1]
    return pad(x.float(), (taps - 1, 0)).unfold(2, taps, 1) * weight.float()[:, None]


def _direct(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    return (_products(x, weight).sum(-1) + bias.float()[:, None]).to(x.dtype)


def bias_first(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """A float32 accumulator that starts at the bias, the oldest place first."""
    total = bias.float()[:, None]
    for part in _products(x, weight).unbind(-1):
        total = total + part
    return total.to(x.dtype)


def newest_first(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """From the newest place backwards, in float32, the bias last."""
    return (summed(_products(x, weight).flip(-1), lanes=1) + bias.float()[:, None]).to(x.dtype)


def library(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The library's float32 convolution of a padded signal, a group for each channel."""
    padded = pad(x.float(), (weight.shape[1] - 1, 0))
    return conv1d(padded, weight.float()[:, None], bias.float(), groups=len(weight)).to(x.dtype)


def scattered(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Every place adds to its own output and the ones behind it, in float32."""
    length, taps = x.shape[2], weight.shape[1]
    total = pad(torch.zeros_like(x, dtype=torch.float32), (0, taps - 1))
    for tap in range(taps):
        total[..., taps - 1 - tap : taps - 1 - tap + length] += x.float() * weight[:, tap : tap + 1].float()
    return (total[..., :length] + bias.float()[:, None]).to(x.dtype)


def tf32_inputs(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """float32: factors rounded to TF32."""
    return _direct(tf32(x), tf32(weight), bias)


def half_accumulators(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Accumulators of the next lower class, after every term."""
    lower = torch.bfloat16 if x.dtype == torch.float32 else x.dtype
    return (summed(_products(x, weight), lower, lanes=1).float() + bias.float()[:, None]).to(x.dtype)


def no_bias(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The bias is left out."""
    return _direct(x, weight, torch.zeros_like(bias))


def bias_for_each_tap(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The bias is added with every tap."""
    return _direct(x, weight, bias.float() * weight.shape[1])


def flipped(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The taps are in reversed order."""
    return _direct(x, weight.flip(1), bias)


def centred(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Padded on both sides: outputs see a later place."""
    return _direct(torch.cat((x[..., 1:], torch.zeros_like(x[..., :1])), -1), weight, bias)


def one_place_late(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Outputs do not see their own place, but one earlier place more."""
    return _direct(torch.cat((torch.zeros_like(x[..., :1]), x[..., :-1]), -1), weight, bias)


def edge_padding(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Places before the first repeat it."""
    taps = weight.shape[1]
    windows = torch.cat((x[..., :1].expand(-1, -1, taps - 1), x), -1).float().unfold(2, taps, 1)
    return ((windows * weight.float()[:, None]).sum(-1) + bias.float()[:, None]).to(x.dtype)


def state_of_the_channel_before(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Places before the first are the last ones of the channel before, as memory has them."""
    taps = weight.shape[1]
    windows = pad(x.float().flatten(), (taps - 1, 0)).unfold(0, taps, 1).unflatten(0, x.shape)
    return ((windows * weight.float()[:, None]).sum(-1) + bias.float()[:, None]).to(x.dtype)


def blocks_start_afresh(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Blocks of 64 places do not see the end of the block before."""
    return torch.cat([_direct(part, weight, bias) for part in x.split(64, -1)], -1)


def oldest_tap_lost(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The oldest place is left out."""
    kept = weight.clone()
    kept[:, 0] = 0
    return _direct(x, kept, bias)


def filter_of_the_first_channel(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """All channels use the first one's filter."""
    return _direct(x, weight[:1].expand(weight.shape), bias)


def last_bias_of_another(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The last channel adds the first one's bias."""
    return _direct(x, weight, torch.cat((bias[:-1], bias[:1])))


def filter_transposed(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The filters' memory is read as [taps, channels]."""
    return _direct(x, weight.reshape(weight.shape[1], weight.shape[0]).T, bias)


def activated(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """A SiLU follows, as in Mamba's layer."""
    return torch.nn.functional.silu(_direct(x.float(), weight, bias)).to(x.dtype)


tf32_inputs.dtypes = ("float32",)

HONEST = (bias_first, newest_first, library, scattered)
MUTANTS = (
    tf32_inputs, half_accumulators, no_bias, bias_for_each_tap, flipped, centred, one_place_late, edge_padding,
    state_of_the_channel_before, blocks_start_afresh, oldest_tap_lost, filter_of_the_first_channel,
    last_bias_of_another, filter_transposed, activated,
)  # fmt: skip
