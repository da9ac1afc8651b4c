"""Variants of the convolution: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import multiplied, tf32


def _columns(x: torch.Tensor, weight: torch.Tensor, stride: int, padding: int) -> torch.Tensor:
    """[batch, places, channels * kernel]: one row of factors for each output place, in float32."""
    windows = torch.nn.functional.unfold(x.float(), tuple(weight.shape[2:]), padding=padding, stride=stride)
    return windows.transpose(1, 2)


def _image(flat: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, stride: int, padding: int) -> torch.Tensor:
    """From [batch, places, filters] to an image in x's dtype."""
    height = (x.shape[2] + 2 * padding - weight.shape[2]) // stride + 1
    return flat.transpose(1, 2).unflatten(-1, (height, -1)).to(x.dtype).contiguous()


def _direct(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int, padding: int) -> torch.Tensor:
    return torch.nn.functional.conv2d(x.float(), weight.float(), bias.float(), stride, padding).to(x.dtype)


def implicit_gemm(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int, padding: int) -> torch.Tensor:
    """A product with sixteen terms at a time into float32 accumulators."""
    flat = multiplied(_columns(x, weight, stride, padding), weight.flatten(1).T)
    return _image(flat + bias.float(), x, weight, stride, padding)


def direct(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int, padding: int) -> torch.Tensor:
    """The library's float32 convolution."""
    return _direct(x, weight, bias, stride, padding)


def tap_by_tap(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int, padding: int) -> torch.Tensor:
    """A shifted image for each place of the kernel, added up in float32, starting from the bias."""
    padded = torch.nn.functional.pad(x.float(), (padding,) * 4)
    height = (padded.shape[2] - weight.shape[2]) // stride + 1
    width = (padded.shape[3] - weight.shape[3]) // stride + 1
    total = bias.float()[:, None, None]
    for u in range(weight.shape[2]):
        for v in range(weight.shape[3]):
            part = padded[:, :, u : u + stride * height : stride, v : v + stride * width : stride]
            part = part[:, :, :height, :width]
            total = total + torch.einsum("bchw,oc->bohw", part, weight[:, :, u, v].float())
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
    return _image(flat.float() + bias.float(), x, weight, stride, padding)


def taps_of_the_dtype(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int, padding: int
) -> torch.Tensor:
    """Halves: each tap's part is rounded to the dtype before it is added."""
    padded = torch.nn.functional.pad(x.float(), (padding,) * 4)
    windows = padded.unfold(2, weight.shape[2], stride).unfold(3, weight.shape[3], stride)
    parts = torch.einsum("bchwuv,ocuv->bohwuv", windows, weight.float()).to(x.dtype)
    return (parts.float().sum((-2, -1)).to(x.dtype) + bias[:, None, None]).to(x.dtype)


def no_bias(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int, padding: int) -> torch.Tensor:
    """The bias is left out."""
    return _direct(x, weight, torch.zeros_like(bias), stride, padding)


def bias_twice(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int, padding: int) -> torch.Tensor:
    """The bias is the initial value, and added again at the end."""
    return _direct(x, weight, 2 * bias, stride, padding)


def flipped(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int, padding: int) -> torch.Tensor:
    """The mathematical convolution: the kernel is mirrored."""
    return _direct(x, weight.flip(2, 3), bias, stride, padding)


def edge_padding(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int, padding: int) -> torch.Tensor:
    """The margin repeats the edge."""
    padded = torch.nn.functional.pad(x.float(), (padding,) * 4, mode="replicate")
    return _direct(padded, weight, bias, stride, 0).to(x.dtype)


def last_channel_lost(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int, padding: int
) -> torch.Tensor:
    """The last input channel is left out."""
    kept = torch.cat((weight[:, :-1], torch.zeros_like(weight[:, -1:])), 1)
    return _direct(x, kept, bias, stride, padding)


def corner_tap_lost(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int, padding: int
) -> torch.Tensor:
    """The kernel's last place, in the last channel, is left out."""
    kept = weight.clone()
    kept[:, -1, -1, -1] = 0
    return _direct(x, kept, bias, stride, padding)


def last_column_lost(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int, padding: int
) -> torch.Tensor:
    """The last column of the image is not read."""
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
    """The image starts one column too late."""
    return _direct(x.roll(1, -1), weight, bias, stride, padding)


def kernel_transposed(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int, padding: int
) -> torch.Tensor:
    """The kernel's rows and columns are mistaken for each other."""
    turned = weight.transpose(2, 3).reshape(weight.shape)
    return _direct(x, turned, bias, stride, padding)


tf32_inputs.dtypes = ("float32",)
taps_of_the_dtype.dtypes = ("float16", "bfloat16")

HONEST = (implicit_gemm, direct, tap_by_tap)
MUTANTS = (
    tf32_inputs,
    half_accumulators,
    taps_of_the_dtype,
    no_bias,
    bias_twice,
    flipped,
    edge_padding,
    last_channel_lost,
    corner_tap_lost,
    last_column_lost,
    last_filter_of_another,
    shifted_by_one,
    kernel_transposed,
)
