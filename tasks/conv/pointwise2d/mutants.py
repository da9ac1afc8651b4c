"""Variants of the pointwise convolution: honest ones that must pass and wrong ones that must fail."""

import torch
from torch.nn.functional import conv2d

from robust_kbench.audit.emulated import multiplied, tf32


def _rows(x: torch.Tensor) -> torch.Tensor:
    """[batch, places, channels] in float32."""
    return x.float().flatten(2).transpose(1, 2)


def _matrix(weight: torch.Tensor) -> torch.Tensor:
    """[channels, filters] in float32."""
    return weight[:, :, 0, 0].float().T


def _image(flat: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """From [batch, places, filters] to an image in x's dtype."""
    return flat.transpose(1, 2).unflatten(-1, x.shape[2:]).to(x.dtype)


def _direct(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    return _image(_rows(x) @ _matrix(weight) + bias.float(), x)


def tensor_cores(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Sixteen terms at a time into float32 accumulators, the bias last."""
    return _image(multiplied(_rows(x), _matrix(weight)) + bias.float(), x)


def bias_first(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The float32 accumulators start at the bias; 32 channels at a time."""
    total = bias.float()
    for left, right in zip(_rows(x).split(32, -1), _matrix(weight).split(32, 0), strict=True):
        total = total + left @ right
    return _image(total, x)


def split_k(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Four blocks of channels, each summed on its own in float32, added at the end."""
    blocks = zip(_rows(x).tensor_split(4, -1), _matrix(weight).tensor_split(4, 0), strict=True)
    return _image(torch.stack([left @ right for left, right in blocks]).sum(0) + bias.float(), x)


def library(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The library's float32 convolution."""
    return conv2d(x.float(), weight.float(), bias.float()).to(x.dtype)


def tf32_inputs(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """float32: factors rounded to TF32."""
    return _direct(tf32(x), tf32(weight), bias)


def two_bfloat16(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """float32: each factor as a sum of two bfloat16 numbers, which holds 16 of 24 bits."""
    x_high, w_high = x.bfloat16().float(), weight.bfloat16().float()
    x_low, w_low = (x - x_high).bfloat16().float(), (weight - w_high).bfloat16().float()
    nothing = torch.zeros_like(bias)
    return _direct(x_high, w_low, nothing) + _direct(x_low, w_high, nothing) + _direct(x_high, w_high, bias)


def half_accumulators(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Accumulators of the next lower class, after every eight terms."""
    lower = torch.bfloat16 if x.dtype == torch.float32 else x.dtype
    return _image(multiplied(_rows(x), _matrix(weight), lower, step=8).float() + bias.float(), x)


def blocks_of_the_dtype(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Halves: blocks of 32 channels are summed in float32 but stored and added in the dtype."""
    return _image(multiplied(_rows(x), _matrix(weight), x.dtype, step=32).float() + bias.float(), x)


def no_bias(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The bias is left out."""
    return _direct(x, weight, torch.zeros_like(bias))


def bias_twice(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Two blocks of the channels both add the bias."""
    return _direct(x, weight, 2 * bias.float())


def bias_of_the_first_filter(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Every filter adds the first one's bias."""
    return _direct(x, weight, bias[:1])


def last_channel_lost(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The last input channel is left out."""
    return _direct(x[:, :-1], weight[:, :-1], bias)


def tail_of_channels_lost(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Channels behind the last whole group of eight are left out."""
    whole = x.shape[1] // 8 * 8 or x.shape[1]
    return _direct(x[:, :whole], weight[:, :whole], bias)


def filter_transposed(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The filters' memory is read as [in_channels, out_channels]."""
    turned = weight.reshape(weight.shape[1], weight.shape[0]).T[:, :, None, None]
    return _direct(x, turned, bias)


def channels_innermost(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The image's memory is read as if the channels were the innermost axis."""
    rows = x.float().reshape(len(x), -1, x.shape[1])
    return _image(rows @ _matrix(weight) + bias.float(), x)


def image_of_the_first(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The last image is the first one's."""
    return _direct(torch.cat((x[:-1], x[:1])), weight, bias)


def last_place_without_bias(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The last place of each image misses the bias."""
    total = _rows(x) @ _matrix(weight)
    biased = total + bias.float()
    biased[:, -1] = total[:, -1]
    return _image(biased, x)


def tile_lost(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Places behind the last whole tile of 16 are left at the bias."""
    y = _rows(x) @ _matrix(weight) + bias.float()
    whole = y.shape[1] // 16 * 16 or y.shape[1]
    y[:, whole:] = bias.float()
    return _image(y, x)


def rectified(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """A rectifier follows, as in a fused layer."""
    return _direct(x, weight, bias).relu()


tf32_inputs.dtypes = two_bfloat16.dtypes = ("float32",)
blocks_of_the_dtype.dtypes = ("float16", "bfloat16")

HONEST = (tensor_cores, bias_first, split_k, library)
MUTANTS = (
    tf32_inputs, two_bfloat16, half_accumulators, blocks_of_the_dtype, no_bias, bias_twice, bias_of_the_first_filter,
    last_channel_lost, tail_of_channels_lost, filter_transposed, channels_innermost, image_of_the_first,
    last_place_without_bias, tile_lost, rectified,
)  # fmt: skip
