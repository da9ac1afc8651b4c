"""Variants of the clamped transposed convolution: honest ones that must pass and wrong ones that must fail."""

import torch
from torch import Tensor
from torch.nn.functional import conv2d, conv_transpose2d, fold, pad, unfold

from robust_kbench.audit.emulated import multiplied, tf32


def _product(x: Tensor, weight: Tensor) -> Tensor:
    """Without bias, by the library in float32."""
    return conv_transpose2d(x.float(), weight.float(), None, 2, 1, 1)


def _finished(product: Tensor, bias: Tensor) -> Tensor:
    """With bias and clamped, in the bias's dtype."""
    return (product + bias.float()[:, None, None]).clamp(0, 1).to(bias.dtype)


def _columns(x: Tensor) -> Tensor:
    """[batch, places of the result, channels * 9]: rows of factors, most of them zero, in float32."""
    spread = torch.zeros((*x.shape[:2], 2 * x.shape[2], 2 * x.shape[3]))
    spread[:, :, ::2, ::2] = x
    return unfold(spread, 3, padding=1).transpose(1, 2)


def _filters(weight: Tensor) -> Tensor:
    """[channels * 9, filters], mirrored."""
    return weight.flip(2, 3).transpose(0, 1).flatten(1).T


def _image(flat: Tensor, x: Tensor) -> Tensor:
    """From [batch, places, filters] to an image."""
    return flat.transpose(1, 2).unflatten(-1, (2 * x.shape[2], -1))


def library(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The library's float32 operator."""
    return _finished(_product(x, weight), bias)


def implicit_gemm(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The image with zeros between its places: sixteen terms at a time into float32 accumulators."""
    return _finished(_image(multiplied(_columns(x), _filters(weight)), x), bias).contiguous()


def scattered(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """A product for each place of x, folded: neighbours add to the result where they meet."""
    columns = torch.einsum("bcl,ck->bkl", x.float().flatten(2), weight.float().flatten(1))
    return _finished(fold(columns, (2 * x.shape[2], 2 * x.shape[3]), 3, padding=1, stride=2), bias)


def by_phases(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Four convolutions without zeros, one for even or odd rows and columns each."""
    y = torch.empty((len(x), len(bias), 2 * x.shape[2], 2 * x.shape[3]))
    filters = weight.float().transpose(0, 1)
    padded = pad(x.float(), (0, 1, 0, 1))
    for row in (0, 1):
        for column in (0, 1):
            image = padded[:, :, : x.shape[2] + row, : x.shape[3] + column]
            rows, columns = ([[1], [2, 0]][odd] for odd in (row, column))
            y[:, :, row::2, column::2] = conv2d(image, filters[:, :, rows][..., columns], bias.float())
    return y.clamp(0, 1).to(x.dtype)


def two_kernels(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The convolution is stored in the task's dtype before the bias is added."""
    return (_product(x, weight).to(x.dtype) + bias[:, None, None]).clamp(0, 1)


def tf32_inputs(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """float32: the library's default, factors rounded to TF32."""
    return _finished(_product(tf32(x), tf32(weight)), bias)


def half_accumulators(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Accumulators of the next lower class, rounded after every four terms."""
    lower = torch.bfloat16 if x.dtype == torch.float32 else x.dtype
    flat = multiplied(_columns(x), _filters(weight), lower, step=4)
    return _finished(_image(flat.float(), x), bias).contiguous()


def no_bias(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The bias is left out."""
    return _finished(_product(x, weight), torch.zeros_like(bias))


def bias_twice(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The bias is the initial value, and added again at the end."""
    return _finished(_product(x, weight), 2 * bias)


def clamped_before_the_bias(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The bias is added after the clamp."""
    return (_product(x, weight).clamp(0, 1) + bias.float()[:, None, None]).to(x.dtype)


def not_clamped(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The clamp is left out."""
    return (_product(x, weight) + bias.float()[:, None, None]).to(x.dtype)


def clamped_from_below(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Clamped from below alone."""
    return (_product(x, weight) + bias.float()[:, None, None]).clamp(min=0).to(x.dtype)


def clamped_at_minus_one(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Clamped between -1 and 1."""
    return (_product(x, weight) + bias.float()[:, None, None]).clamp(-1, 1).to(x.dtype)


def sigmoid(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """A sigmoid."""
    return torch.sigmoid(_product(x, weight) + bias.float()[:, None, None]).to(x.dtype)


def filters_mirrored(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The filters are mirrored."""
    return _finished(_product(x, weight.flip(2, 3)), bias)


def filters_turned(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The filters' rows and columns are mistaken for each other."""
    return _finished(_product(x, weight.transpose(2, 3)), bias)


def other_end_cut_off(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The last row and column are cut off instead of the first ones."""
    full = conv_transpose2d(x.float(), weight.float(), None, 2)
    return _finished(full[:, :, :-1, :-1], bias)


def repeated_in_place_of_zeros(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Every place of x stands four times, as in upsampling, instead of once among zeros."""
    image = x.float().repeat_interleave(2, 2).repeat_interleave(2, 3)
    return _finished(conv2d(image, weight.float().flip(2, 3).transpose(0, 1), padding=1), bias)


def overwritten(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Where two columns of x meet, the earlier one is written and the later one not added."""
    kept = weight.clone()
    kept[..., 0] = 0
    return _finished(_product(x, kept), bias)


def last_channel_lost(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The last input channel is left out."""
    return _finished(_product(x[:, :-1], weight[:-1]) if len(weight) > 1 else 0 * _product(x, weight), bias)


def corner_tap_lost(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The filters' last place, in the last channel, is left out."""
    kept = weight.clone()
    kept[-1, :, -1, -1] = 0
    return _finished(_product(x, kept), bias)


def last_column_lost(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The last column of the image is not read."""
    cut = x.clone()
    cut[..., -1] = 0
    return _finished(_product(cut, weight), bias)


def channels_and_filters_swapped(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The filters are read as [out_channels, in_channels]."""
    turned = weight.reshape(weight.shape[1], weight.shape[0], 3, 3).transpose(0, 1)
    return _finished(_product(x, turned), bias)


def last_filter_of_another(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The last filter adds the first one's bias."""
    return _finished(_product(x, weight), torch.cat((bias[:-1], bias[:1])))


tf32_inputs.dtypes = ("float32",)

HONEST = (library, implicit_gemm, scattered, by_phases, two_kernels)
MUTANTS = (
    tf32_inputs, half_accumulators, no_bias, bias_twice, clamped_before_the_bias, not_clamped, clamped_from_below,
    clamped_at_minus_one, sigmoid, filters_mirrored, filters_turned, other_end_cut_off, repeated_in_place_of_zeros,
    overwritten, last_channel_lost, corner_tap_lost, last_column_lost, channels_and_filters_swapped,
    last_filter_of_another,
)  # fmt: skip
