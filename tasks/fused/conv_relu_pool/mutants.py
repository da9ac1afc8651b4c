"""Variants of convolution, rectifier and pooling: honest ones that must pass and wrong ones that must fail."""

import torch
from torch import Tensor
from torch.nn.functional import avg_pool2d, conv2d, max_pool2d, pad, unfold

from robust_kbench.audit.emulated import multiplied, tf32


def _convolved(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """By the library, in float32."""
    return conv2d(x.float(), weight.float(), bias.float())


def _columns(x: Tensor) -> Tensor:
    """[batch, places, channels * 9]: one row of factors for each place, in float32."""
    return unfold(x.float(), 3).transpose(1, 2)


def _image(flat: Tensor, x: Tensor) -> Tensor:
    """From [batch, places, filters] to an image."""
    return flat.transpose(1, 2).unflatten(-1, (x.shape[2] - 2, -1))


def _finished(z: Tensor, x: Tensor) -> Tensor:
    """Rectified and pooled, in x's dtype."""
    return max_pool2d(z.float().clamp(min=0), 2).to(x.dtype)


def implicit_gemm(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """A product with sixteen terms at a time into float32 accumulators, pooled before it is rectified."""
    z = _image(multiplied(_columns(x), weight.flatten(1).T) + bias.float(), x)
    return max_pool2d(z, 2).clamp(min=0).to(x.dtype)


def bias_last(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Pooled first, in float32; the bias is added to the maxima alone."""
    z = conv2d(x.float(), weight.float())
    return (max_pool2d(z, 2) + bias.float()[:, None, None]).clamp(min=0).to(x.dtype)


def two_kernels(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The rectified convolution is stored in the task's dtype before it is pooled."""
    return max_pool2d(_convolved(x, weight, bias).to(x.dtype).clamp(min=0), 2)


def tap_by_tap(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """A shifted image for each place of the filter, added up in float32, starting from the bias; pooled by columns."""
    height, width = (size - 2 for size in x.shape[2:])
    z = bias.float()[:, None, None]
    for u in range(3):
        for v in range(3):
            part = x[:, :, u : u + height, v : v + width].float()
            z = z + torch.einsum("bchw,oc->bohw", part, weight[:, :, u, v].float())
    z = z[:, :, : height // 2 * 2, : width // 2 * 2]
    z = torch.maximum(z[:, :, ::2], z[:, :, 1::2])
    return torch.maximum(z[..., ::2], z[..., 1::2]).clamp(min=0).to(x.dtype)


def tf32_inputs(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """float32: the library's default, factors rounded to TF32."""
    return _finished(_convolved(tf32(x), tf32(weight), bias), x)


def half_accumulators(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Accumulators of the next lower class, rounded after every four terms."""
    lower = torch.bfloat16 if x.dtype == torch.float32 else x.dtype
    flat = multiplied(_columns(x), weight.flatten(1).T, lower, step=4)
    return _finished(_image(flat.float() + bias.float(), x), x)


def no_bias(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The bias is left out."""
    return _finished(_convolved(x, weight, torch.zeros_like(bias)), x)


def bias_twice(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The bias is the initial value, and added again at the end."""
    return _finished(_convolved(x, weight, 2 * bias), x)


def rectified_before_the_bias(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The rectifier comes before the bias."""
    z = conv2d(x.float(), weight.float()).clamp(min=0) + bias.float()[:, None, None]
    return max_pool2d(z, 2).to(x.dtype)


def not_rectified(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The rectifier is left out."""
    return max_pool2d(_convolved(x, weight, bias), 2).to(x.dtype)


def leaks(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """A leaky rectifier with slope 0.01."""
    return max_pool2d(torch.nn.functional.leaky_relu(_convolved(x, weight, bias)), 2).to(x.dtype)


def average(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The mean of each window."""
    return avg_pool2d(_convolved(x, weight, bias).clamp(min=0), 2).to(x.dtype)


def window_short_of_a_corner(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The last corner of each window is not looked at."""
    z = _convolved(x, weight, bias)
    above = max_pool2d(z[:, :, :-1], (1, 2), 2)
    return torch.maximum(above, max_pool2d(z[..., :-1], (2, 1), 2)).clamp(min=0).to(x.dtype)


def window_too_wide(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Each window reaches one column further, but not over the edge."""
    return max_pool2d(pad(_convolved(x, weight, bias), (0, 1), value=float("-inf")), (2, 3), 2).clamp(min=0).to(x.dtype)


def first_of_each_window(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The first place of each window instead of the maximum."""
    z = _convolved(x, weight, bias)[:, :, : (x.shape[2] - 2) // 2 * 2, : (x.shape[3] - 2) // 2 * 2]
    return z[:, :, ::2, ::2].clamp(min=0).to(x.dtype)


def flipped(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The mathematical convolution: the filters are mirrored."""
    return _finished(_convolved(x, weight.flip(2, 3), bias), x)


def filters_transposed(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The filters' rows and columns are mistaken for each other."""
    return _finished(_convolved(x, weight.transpose(2, 3), bias), x)


def corner_tap_lost(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The filters' last place, in the last channel, is left out."""
    kept = weight.clone()
    kept[:, -1, -1, -1] = 0
    return _finished(_convolved(x, kept, bias), x)


def last_channel_lost(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The last input channel is left out."""
    kept = torch.cat((weight[:, :-1], torch.zeros_like(weight[:, -1:])), 1)
    return _finished(_convolved(x, kept, bias), x)


def shifted_by_one(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The image starts one column too late."""
    return _finished(_convolved(x.roll(1, -1), weight, bias), x)


def last_filter_of_another(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The last filter adds the first one's bias."""
    return _finished(_convolved(x, weight, torch.cat((bias[:-1], bias[:1]))), x)


def last_window_unwritten(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The last window of each image and filter stays zero."""
    y = _finished(_convolved(x, weight, bias), x)
    y[:, :, -1, -1] = 0
    return y


tf32_inputs.dtypes = ("float32",)

HONEST = (implicit_gemm, bias_last, two_kernels, tap_by_tap)
MUTANTS = (
    tf32_inputs, half_accumulators, no_bias, bias_twice, rectified_before_the_bias, not_rectified, leaks, average,
    window_short_of_a_corner, window_too_wide, first_of_each_window, flipped, filters_transposed, corner_tap_lost,
    last_channel_lost, shifted_by_one, last_filter_of_another, last_window_unwritten,
)  # fmt: skip
