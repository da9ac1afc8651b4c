"""Variants of the depthwise separable convolution: honest ones that must pass and wrong ones that must fail."""

import torch
from torch.nn.functional import conv2d, pad

from robust_kbench.audit.emulated import multiplied, summed, tf32

T = torch.Tensor


def _windows(x: T, depth_weight: T, stride: int, padding: int) -> T:
    """[batch, channels, out_height, out_width, kernel_height, kernel_width] in float32."""
    padded = pad(x.float(), (padding,) * 4)
    return padded.unfold(2, depth_weight.shape[2], stride).unfold(3, depth_weight.shape[3], stride)


def _filtered(x: T, depth_weight: T, stride: int, padding: int) -> T:
    """The depthwise part in float32."""
    products = _windows(x, depth_weight, stride, padding) * depth_weight.float()[:, 0, None, None]
    return products.sum((-2, -1))


def _mixed(filtered: T, point_weight: T, bias: T) -> T:
    """The product over the channels in float32, with the bias."""
    return torch.einsum("bcij,oc->boij", filtered, point_weight[:, :, 0, 0].float()) + bias.float()[:, None, None]


def library(x: T, depth_weight: T, point_weight: T, bias: T, stride: int, padding: int) -> T:
    """The library's two convolutions in float32, nothing rounded in between."""
    filtered = conv2d(x.float(), depth_weight.float(), None, stride, padding, groups=len(depth_weight))
    return conv2d(filtered, point_weight.float(), bias.float()).to(x.dtype)


def handed_on_in_the_dtype(x: T, depth_weight: T, point_weight: T, bias: T, stride: int, padding: int) -> T:
    """Two kernels: what the first one has summed in float32 is stored in the dtype; tensor cores take it from there."""
    filtered = _filtered(x, depth_weight, stride, padding).to(x.dtype)
    flat = multiplied(filtered.flatten(2).transpose(1, 2), point_weight[:, :, 0, 0].T) + bias.float()
    return flat.transpose(1, 2).unflatten(-1, filtered.shape[2:]).to(x.dtype)


def fused(x: T, depth_weight: T, point_weight: T, bias: T, stride: int, padding: int) -> T:
    """Eight channels at a time, window and product, into float32 accumulators that start at the bias."""
    total = bias.float()[:, None, None]
    for start in range(0, x.shape[1], 8):
        part = slice(start, start + 8)
        products = _windows(x[:, part], depth_weight, stride, padding) * depth_weight.float()[part, 0, None, None]
        filtered = summed(products.flatten(-2), lanes=1)
        total = total + torch.einsum("bcij,oc->boij", filtered, point_weight[:, part, 0, 0].float())
    return total.to(x.dtype)


def tf32_inputs(x: T, depth_weight: T, point_weight: T, bias: T, stride: int, padding: int) -> T:
    """float32: factors of the second product rounded to TF32."""
    filtered = _filtered(x, depth_weight, stride, padding)
    return _mixed(tf32(filtered), tf32(point_weight), bias)


def handed_on_in_bfloat16(x: T, depth_weight: T, point_weight: T, bias: T, stride: int, padding: int) -> T:
    """What the first kernel has summed is stored in bfloat16."""
    filtered = _filtered(x, depth_weight, stride, padding).bfloat16().float()
    return _mixed(filtered, point_weight, bias).to(x.dtype)


def half_accumulators(x: T, depth_weight: T, point_weight: T, bias: T, stride: int, padding: int) -> T:
    """The product over the channels is summed in the next lower class, after every four terms."""
    filtered = _filtered(x, depth_weight, stride, padding)
    lower = torch.bfloat16 if x.dtype == torch.float32 else x.dtype
    flat = multiplied(filtered.flatten(2).transpose(1, 2), point_weight[:, :, 0, 0].T, lower, step=4)
    wide = (flat.float() + bias.float()).transpose(1, 2)
    return wide.unflatten(-1, filtered.shape[2:]).to(x.dtype)


def no_bias(x: T, depth_weight: T, point_weight: T, bias: T, stride: int, padding: int) -> T:
    """The bias is left out."""
    filtered = _filtered(x, depth_weight, stride, padding)
    return _mixed(filtered, point_weight, torch.zeros_like(bias)).to(x.dtype)


def bias_for_each_block(x: T, depth_weight: T, point_weight: T, bias: T, stride: int, padding: int) -> T:
    """Two blocks of channels both add the bias."""
    filtered = _filtered(x, depth_weight, stride, padding)
    return _mixed(filtered, point_weight, 2 * bias.float()).to(x.dtype)


def no_depthwise_part(x: T, depth_weight: T, point_weight: T, bias: T, stride: int, padding: int) -> T:
    """The window's first place stands for the whole window."""
    first = _windows(x, depth_weight, stride, padding)[..., 0, 0]
    return _mixed(first, point_weight, bias).to(x.dtype)


def rectified_between(x: T, depth_weight: T, point_weight: T, bias: T, stride: int, padding: int) -> T:
    """A rectifier stands between the two, as in MobileNet's block."""
    filtered = _filtered(x, depth_weight, stride, padding).relu()
    return _mixed(filtered, point_weight, bias).to(x.dtype)


def flipped(x: T, depth_weight: T, point_weight: T, bias: T, stride: int, padding: int) -> T:
    """The depthwise filters are mirrored."""
    filtered = _filtered(x, depth_weight.flip(2, 3), stride, padding)
    return _mixed(filtered, point_weight, bias).to(x.dtype)


def edge_padding(x: T, depth_weight: T, point_weight: T, bias: T, stride: int, padding: int) -> T:
    """The margin repeats the edge."""
    padded = pad(x.float(), (padding,) * 4, mode="replicate")
    return _mixed(_filtered(padded, depth_weight, stride, 0), point_weight, bias).to(x.dtype)


def last_channel_lost(x: T, depth_weight: T, point_weight: T, bias: T, stride: int, padding: int) -> T:
    """The last channel is left out of the product."""
    kept = point_weight.clone()
    kept[:, -1] = 0
    return _mixed(_filtered(x, depth_weight, stride, padding), kept, bias).to(x.dtype)


def tail_of_channels_lost(x: T, depth_weight: T, point_weight: T, bias: T, stride: int, padding: int) -> T:
    """Channels behind the last whole group of four are left out of the product."""
    kept, channels = point_weight.clone(), x.shape[1]
    kept[:, channels // 4 * 4 or channels :] = 0
    return _mixed(_filtered(x, depth_weight, stride, padding), kept, bias).to(x.dtype)


def corner_tap_lost(x: T, depth_weight: T, point_weight: T, bias: T, stride: int, padding: int) -> T:
    """The last place of the depthwise filters is left out."""
    kept = depth_weight.clone()
    kept[..., -1, -1] = 0
    return _mixed(_filtered(x, kept, stride, padding), point_weight, bias).to(x.dtype)


def filter_of_the_first_channel(x: T, depth_weight: T, point_weight: T, bias: T, stride: int, padding: int) -> T:
    """All channels use the first one's depthwise filter."""
    filtered = _filtered(x, depth_weight[:1].expand(depth_weight.shape), stride, padding)
    return _mixed(filtered, point_weight, bias).to(x.dtype)


def point_weight_transposed(x: T, depth_weight: T, point_weight: T, bias: T, stride: int, padding: int) -> T:
    """The second product's memory is read as [in_channels, out_channels]."""
    turned = point_weight.reshape(x.shape[1], -1, 1, 1).transpose(0, 1)
    return _mixed(_filtered(x, depth_weight, stride, padding), turned, bias).to(x.dtype)


def last_filter_of_another(x: T, depth_weight: T, point_weight: T, bias: T, stride: int, padding: int) -> T:
    """The last filter adds the first one's bias."""
    other = torch.cat((bias[:-1], bias[:1]))
    return _mixed(_filtered(x, depth_weight, stride, padding), point_weight, other).to(x.dtype)


tf32_inputs.dtypes = ("float32",)
handed_on_in_bfloat16.dtypes = ("float32", "float16")

HONEST = (library, handed_on_in_the_dtype, fused)
MUTANTS = (
    tf32_inputs, handed_on_in_bfloat16, half_accumulators, no_bias, bias_for_each_block, no_depthwise_part,
    rectified_between, flipped, edge_padding, last_channel_lost, tail_of_channels_lost, corner_tap_lost,
    filter_of_the_first_channel, point_weight_transposed, last_filter_of_another,
)  # fmt: skip
