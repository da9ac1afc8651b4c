"""Depthwise separable convolution: d[b, c, i, j] = sum over u, v of x[b, c, s i + u, s j + v] * depth_weight[c, u, v].

y[b, o, i, j] = bias[o] + sum over c of d[b, c, i, j] * point_weight[o, c] (Howard et al. 2017, section 3.1). s is the
stride; before, the image gets `padding` zeros on each side.
"""

import torch


def reference(
    x: torch.Tensor,
    depth_weight: torch.Tensor,
    point_weight: torch.Tensor,
    bias: torch.Tensor,
    stride: int,
    padding: int,
) -> torch.Tensor:
    """x: [batch, in_channels, height, width], depth_weight: [in_channels, 1, kernel_height, kernel_width].

    point_weight: [out_channels, in_channels, 1, 1], bias: [out_channels]. Gives y: [batch, out_channels,
    (height + 2 * padding - kernel_height) // stride + 1, the same of the width].
    """
    padded = torch.nn.functional.pad(x, (padding, padding, padding, padding))
    windows = padded.unfold(2, depth_weight.shape[2], stride).unfold(3, depth_weight.shape[3], stride)
    filtered = torch.einsum("bcijuv,cuv->bcij", windows, depth_weight[:, 0])
    return torch.einsum("bcij,oc->boij", filtered, point_weight[:, :, 0, 0]) + bias[:, None, None]


def functional(
    x: torch.Tensor,
    depth_weight: torch.Tensor,
    point_weight: torch.Tensor,
    bias: torch.Tensor,
    stride: int,
    padding: int,
) -> torch.Tensor:
    """The same through PyTorch's own operators."""
    filtered = torch.nn.functional.conv2d(x, depth_weight, None, stride, padding, groups=len(depth_weight))
    return torch.nn.functional.conv2d(filtered, point_weight, bias)
