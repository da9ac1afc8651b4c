"""Variants of the depthwise convolution: honest ones that must pass and wrong ones that must fail."""

import torch
from torch.nn.functional import conv2d, pad

from robust_kbench.audit.emulated import summed, tf32


def _products(x: torch.Tensor, weight: torch.Tensor, stride: int, padding: int) -> torch.Tensor:
    """[batch, channels, out_height, out_width, kernel_height, kernel_width] in float32."""
    windows = pad(x.float(), (padding,) * 4)
    windows = windows.unfold(2, weight.shape[2], stride).unfold(3, weight.shape[3], stride)
    return windows * weight.float()[:, 0, None, None]


def _biased(total: torch.Tensor, bias: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return (total + bias.float()[:, None, None]).to(x.dtype)


def _direct(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int, padding: int) -> torch.Tensor:
    return _biased(_products(x, weight, stride, padding).sum((-2, -1)), bias, x)


def bias_first(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int, padding: int) -> torch.Tensor:
    """A float32 accumulator that starts at the bias, row by row of the kernel."""
    total = bias.float()[:, None, None]
    for part in _products(x, weight, stride, padding).flatten(-2).unbind(-1):
        total = total + part
    return total.to(x.dtype)


def library(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int, padding: int) -> torch.Tensor:
    """The library's float32 convolution, a group for each channel."""
    return conv2d(x.float(), weight.float(), bias.float(), stride, padding, groups=len(weight)).to(x.dtype)


def columns_first(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int, padding: int) -> torch.Tensor:
    """A sum for each column of the kernel, then those from the last to the first, in float32, the bias last."""
    columns = summed(_products(x, weight, stride, padding).transpose(-2, -1), lanes=1)
    return _biased(summed(columns.flip(-1), lanes=1), bias, x)


def four_lanes(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int, padding: int) -> torch.Tensor:
    """Four float32 accumulators for each output."""
    return _biased(summed(_products(x, weight, stride, padding).flatten(-2), lanes=4), bias, x)


def tf32_inputs(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int, padding: int) -> torch.Tensor:
    """float32: factors rounded to TF32."""
    return _direct(tf32(x), tf32(weight), bias, stride, padding)


def half_accumulators(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int, padding: int
) -> torch.Tensor:
    """Accumulators of the next lower class, after every term."""
    lower = torch.bfloat16 if x.dtype == torch.float32 else x.dtype
    total = summed(_products(x, weight, stride, padding).flatten(-2), lower, lanes=1)
    return _biased(total.float(), bias, x)


def rows_of_the_dtype(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int, padding: int
) -> torch.Tensor:
    """Halves: the sum over each row of the kernel is rounded to the dtype before it is added."""
    rows = _products(x, weight, stride, padding).sum(-1).to(x.dtype)
    return _biased(rows.float().sum(-1), bias, x)


def no_bias(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int, padding: int) -> torch.Tensor:
    """The bias is left out."""
    return _direct(x, weight, torch.zeros_like(bias), stride, padding)


def bias_twice(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int, padding: int) -> torch.Tensor:
    """The bias is the initial value, and added again at the end."""
    return _direct(x, weight, 2 * bias.float(), stride, padding)


def flipped(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int, padding: int) -> torch.Tensor:
    """The mathematical convolution: the kernel is mirrored."""
    return _direct(x, weight.flip(2, 3), bias, stride, padding)


def edge_padding(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int, padding: int) -> torch.Tensor:
    """The margin repeats the edge."""
    padded = pad(x.float(), (padding,) * 4, mode="replicate")
    return _direct(padded, weight, bias, stride, 0).to(x.dtype)


def corner_tap_lost(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int, padding: int
) -> torch.Tensor:
    """The kernel's last place is left out."""
    kept = weight.clone()
    kept[..., -1, -1] = 0
    return _direct(x, kept, bias, stride, padding)


def last_column_lost(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int, padding: int
) -> torch.Tensor:
    """The last column of the image is not read."""
    cut = x.clone()
    cut[..., -1] = 0
    return _direct(cut, weight, bias, stride, padding)


def filter_of_the_first_channel(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int, padding: int
) -> torch.Tensor:
    """All channels use the first one's filter."""
    return _direct(x, weight[:1].expand(weight.shape), bias, stride, padding)


def last_filter_of_its_neighbour(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int, padding: int
) -> torch.Tensor:
    """The last channel uses the filter before its own."""
    kept = torch.cat((weight[:-1], weight[-2:][:1]))
    return _direct(x, kept, bias, stride, padding)


def summed_over_channels(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int, padding: int
) -> torch.Tensor:
    """The sum goes over the channels, too, as in an ordinary convolution."""
    total = _products(x, weight, stride, padding).sum((-2, -1)).sum(1, keepdim=True)
    return _biased(total.expand(-1, x.shape[1], -1, -1), bias, x)


def last_bias_of_another(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int, padding: int
) -> torch.Tensor:
    """The last channel adds the first one's bias."""
    return _direct(x, weight, torch.cat((bias[:-1], bias[:1])), stride, padding)


def shifted_by_one(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int, padding: int
) -> torch.Tensor:
    """The image starts one column too late."""
    return _direct(x.roll(1, -1), weight, bias, stride, padding)


def kernel_transposed(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int, padding: int
) -> torch.Tensor:
    """The kernel's rows and columns are mistaken for each other."""
    return _direct(x, weight.transpose(2, 3).reshape(weight.shape), bias, stride, padding)


tf32_inputs.dtypes = ("float32",)
rows_of_the_dtype.dtypes = ("float16", "bfloat16")

HONEST = (bias_first, library, columns_first, four_lanes)
MUTANTS = (
    tf32_inputs, half_accumulators, rows_of_the_dtype, no_bias, bias_twice, flipped, edge_padding, corner_tap_lost,
    last_column_lost, filter_of_the_first_channel, last_filter_of_its_neighbour, summed_over_channels,
    last_bias_of_another, shifted_by_one, kernel_transposed,
)  # fmt: skip
