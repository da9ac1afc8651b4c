"""Variants of the convolution of volumes: honest ones that must pass and wrong ones that must fail."""

import itertools

import torch
from torch.nn.functional import conv3d, pad

from robust_kbench.audit.emulated import multiplied, tf32


def _windows(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """[batch, channels, three sizes of the result, three sizes of the kernel] in float32."""
    windows = pad(x.float(), (1,) * 6)
    for dim in (2, 3, 4):
        windows = windows.unfold(dim, weight.shape[dim], 1)
    return windows


def _columns(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """[batch, places, channels * kernel]: one row of factors for each output place, in float32."""
    return _windows(x, weight).permute(0, 2, 3, 4, 1, 5, 6, 7).flatten(4).flatten(1, 3)


def _volume(flat: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """From [batch, places, filters] to a volume in x's dtype."""
    sizes = tuple(x.shape[dim] + 3 - weight.shape[dim] for dim in (2, 3, 4))
    return flat.transpose(1, 2).unflatten(-1, sizes).to(x.dtype).contiguous()


def _direct(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    return conv3d(x.float(), weight.float(), bias.float(), 1, 1).to(x.dtype)


def implicit_gemm(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """A product with sixteen terms at a time into float32 accumulators."""
    flat = multiplied(_columns(x, weight), weight.flatten(1).T)
    return _volume(flat + bias.float(), x, weight)


def direct(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The library's float32 convolution."""
    return _direct(x, weight, bias)


def tap_by_tap(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """A shifted volume for each place of the kernel, added up in float32, starting from the bias."""
    padded = pad(x.float(), (1,) * 6)
    depth, height, width = (x.shape[dim] + 3 - weight.shape[dim] for dim in (2, 3, 4))
    total = bias.float()[:, None, None, None]
    for u, v, w in itertools.product(*map(range, weight.shape[2:])):
        part = padded[:, :, u : u + depth, v : v + height, w : w + width]
        total = total + torch.einsum("bcxyz,oc->boxyz", part, weight[:, :, u, v, w].float())
    return total.to(x.dtype)


def tf32_inputs(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """float32: cuDNN's default, factors rounded to TF32."""
    return _direct(tf32(x), tf32(weight), bias)


def half_accumulators(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Accumulators of the next lower class, after every eight terms."""
    lower = torch.bfloat16 if x.dtype == torch.float32 else x.dtype
    flat = multiplied(_columns(x, weight), weight.flatten(1).T, lower, step=8)
    return _volume(flat.float() + bias.float(), x, weight)


def planes_of_the_dtype(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Halves: a convolution of images for each plane of the kernel, whose results are stored in the dtype."""
    parts = torch.einsum("bcxyzuvw,ocuvw->boxyzu", _windows(x, weight), weight.float()).to(x.dtype)
    return (parts.float().sum(-1).to(x.dtype) + bias[:, None, None, None]).to(x.dtype)


def no_bias(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The bias is left out."""
    return _direct(x, weight, torch.zeros_like(bias))


def bias_for_each_plane(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The bias is added with every plane of the kernel."""
    return _direct(x, weight, bias.float() * weight.shape[2])


def flipped(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The mathematical convolution: the kernel is mirrored."""
    return _direct(x, weight.flip(2, 3, 4), bias)


def edge_padding(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The margin repeats the edge."""
    padded = pad(x.float(), (1,) * 6, mode="replicate")
    return conv3d(padded, weight.float(), bias.float()).to(x.dtype)


def depth_not_padded(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Along the depth both zeros stand at the far end."""
    padded = pad(x.float(), (1, 1, 1, 1, 0, 2))
    return conv3d(padded, weight.float(), bias.float()).to(x.dtype)


def margins_wrap_around(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Before the first column stands the last one, as where the index of a row underflows."""
    padded = pad(x.float(), (1,) * 6)
    padded[:, :, 1:-1, 1:-1, 0] = x[..., -1].float()
    return conv3d(padded, weight.float(), bias.float()).to(x.dtype)


def last_channel_lost(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The last input channel is left out."""
    kept = torch.cat((weight[:, :-1], torch.zeros_like(weight[:, -1:])), 1)
    return _direct(x, kept, bias)


def corner_tap_lost(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The kernel's last place, in the last channel, is left out."""
    kept = weight.clone()
    kept[:, -1, -1, -1, -1] = 0
    return _direct(x, kept, bias)


def last_plane_lost(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The last plane of the volume is not read."""
    cut = x.clone()
    cut[:, :, -1] = 0
    return _direct(cut, weight, bias)


def last_filter_of_another(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The last filter adds the first one's bias."""
    return _direct(x, weight, torch.cat((bias[:-1], bias[:1])))


def kernel_turned(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The kernel's depth and width are mistaken for each other."""
    return _direct(x, weight.transpose(2, 4).reshape(weight.shape), bias)


tf32_inputs.dtypes = ("float32",)
planes_of_the_dtype.dtypes = ("float16", "bfloat16")

HONEST = (implicit_gemm, direct, tap_by_tap)
MUTANTS = (
    tf32_inputs, half_accumulators, planes_of_the_dtype, no_bias, bias_for_each_plane, flipped, edge_padding,
    depth_not_padded, margins_wrap_around, last_channel_lost, corner_tap_lost, last_plane_lost,
    last_filter_of_another, kernel_turned,
)  # fmt: skip
