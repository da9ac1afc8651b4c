"""Variants of the dilated convolution: honest ones that must pass and wrong ones that must fail."""

import torch
from torch.nn.functional import conv2d, pad

from robust_kbench.audit.emulated import multiplied, tf32

PADDING, DILATION = (2, 4), (2, 3)
MARGINS = (4, 4, 2, 2)


def _windows(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """[batch, channels, out_height, out_width, kernel_height, kernel_width] in float32."""
    windows = pad(x.float(), MARGINS)
    for axis, dilation in enumerate(DILATION):
        windows = windows.unfold(2 + axis, dilation * (weight.shape[2 + axis] - 1) + 1, 1)[..., ::dilation]
    return windows


def _columns(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """[batch, places, channels * kernel]: one row of factors for each output place, in float32."""
    return _windows(x, weight).permute(0, 2, 3, 1, 4, 5).flatten(3).flatten(1, 2)


def _image(flat: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """From [batch, places, filters] to an image in x's dtype."""
    return flat.transpose(1, 2).unflatten(-1, (x.shape[2] + 6 - 2 * weight.shape[2], -1)).to(x.dtype).contiguous()


def _direct(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    return conv2d(x.float(), weight.float(), bias.float(), 1, PADDING, DILATION).to(x.dtype)


def implicit_gemm(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """A product with sixteen terms at a time into float32 accumulators."""
    flat = multiplied(_columns(x, weight), weight.flatten(1).T)
    return _image(flat + bias.float(), x, weight)


def direct(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The library's float32 convolution."""
    return _direct(x, weight, bias)


def tap_by_tap(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """A shifted image for each place of the kernel, added up in float32, starting from the bias."""
    padded = pad(x.float(), MARGINS)
    height, width = x.shape[2] + 6 - 2 * weight.shape[2], x.shape[3] + 11 - 3 * weight.shape[3]
    total = bias.float()[:, None, None]
    for u in range(weight.shape[2]):
        for v in range(weight.shape[3]):
            part = padded[:, :, 2 * u : 2 * u + height, 3 * v : 3 * v + width]
            total = total + torch.einsum("bchw,oc->bohw", part, weight[:, :, u, v].float())
    return total.to(x.dtype)


def tf32_inputs(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """float32: cuDNN's default, factors rounded to TF32."""
    return _direct(tf32(x), tf32(weight), bias)


def half_accumulators(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Accumulators of the next lower class, after every four terms."""
    lower = torch.bfloat16 if x.dtype == torch.float32 else x.dtype
    flat = multiplied(_columns(x, weight), weight.flatten(1).T, lower, step=4)
    return _image(flat.float() + bias.float(), x, weight)


def taps_of_the_dtype(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Halves: each tap's part is rounded to the dtype before it is added."""
    parts = torch.einsum("bchwuv,ocuv->bohwuv", _windows(x, weight), weight.float()).to(x.dtype)
    return (parts.float().sum((-2, -1)).to(x.dtype) + bias[:, None, None]).to(x.dtype)


def no_bias(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The bias is left out."""
    return _direct(x, weight, torch.zeros_like(bias))


def bias_twice(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The bias is the initial value, and added again at the end."""
    return _direct(x, weight, 2 * bias)


def flipped(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The mathematical convolution: the kernel is mirrored."""
    return _direct(x, weight.flip(2, 3), bias)


def edge_padding(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The margin repeats the edge."""
    padded = pad(x.float(), MARGINS, mode="replicate")
    return conv2d(padded, weight.float(), bias.float(), 1, 0, DILATION).to(x.dtype)


def dilation_of_the_rows(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Both dimensions use the dilation of the first one."""
    y = conv2d(x.float(), weight.float(), bias.float(), 1, PADDING, 2)
    return y[..., : x.shape[3] + 11 - 3 * weight.shape[3]].to(x.dtype)


def dilation_ignored(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The taps stand on neighbouring places."""
    y = conv2d(x.float(), weight.float(), bias.float(), 1, PADDING)
    return y[:, :, : x.shape[2] + 6 - 2 * weight.shape[2], : x.shape[3] + 11 - 3 * weight.shape[3]].to(x.dtype)


def padding_swapped(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The margins of the two dimensions are mistaken for each other at the near ends."""
    padded = pad(x.float(), (2, 6, 4, 0))
    return conv2d(padded, weight.float(), bias.float(), 1, 0, DILATION).to(x.dtype)


def far_margins_skipped(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Windows that reach over the right edge are left at the bias."""
    y = _direct(x.float(), weight, bias)
    y[..., -4:] = bias.float()[:, None, None]
    return y.to(x.dtype)


def last_channel_lost(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The last input channel is left out."""
    kept = torch.cat((weight[:, :-1], torch.zeros_like(weight[:, -1:])), 1)
    return _direct(x, kept, bias)


def corner_tap_lost(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The kernel's last place, in the last channel, is left out."""
    kept = weight.clone()
    kept[:, -1, -1, -1] = 0
    return _direct(x, kept, bias)


def last_column_lost(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The last column of the image is not read."""
    cut = x.clone()
    cut[..., -1] = 0
    return _direct(cut, weight, bias)


def last_filter_of_another(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The last filter adds the first one's bias."""
    return _direct(x, weight, torch.cat((bias[:-1], bias[:1])))


def kernel_transposed(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The kernel's rows and columns are mistaken for each other."""
    return _direct(x, weight.transpose(2, 3).reshape(weight.shape), bias)


tf32_inputs.dtypes = ("float32",)
taps_of_the_dtype.dtypes = ("float16", "bfloat16")

HONEST = (implicit_gemm, direct, tap_by_tap)
MUTANTS = (
    tf32_inputs, half_accumulators, taps_of_the_dtype, no_bias, bias_twice, flipped, edge_padding,
    dilation_of_the_rows, dilation_ignored, padding_swapped, far_margins_skipped, last_channel_lost, corner_tap_lost,
    last_column_lost, last_filter_of_another, kernel_transposed,
)  # fmt: skip
