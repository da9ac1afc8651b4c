"""Depthwise convolution: y[b, c, i, j] = bias[c] + sum over u, v of x[b, c, s i + u, s j + v] * weight[c, u, v].

s is the stride; before, the image gets `padding` zeros on each side (Howard et al. 2017, eq. 3).
"""

import torch


def reference(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int, padding: int) -> torch.Tensor:
    """x: [batch, channels, height, width], weight: [channels, 1, kernel_height, kernel_width], bias: [channels].

    Gives y: [batch, channels, (height + 2 * padding - kernel_height) // stride + 1, the same of the width].
    """
    padded = torch.nn.functional.pad(x, (padding, padding, padding, padding))
    windows = padded.unfold(2, weight.shape[2], stride).unfold(3, weight.shape[3], stride)
    return torch.einsum("bcijuv,cuv->bcij", windows, weight[:, 0]) + bias[:, None, None]


def functional(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int, padding: int) -> torch.Tensor:
    """The same through PyTorch's own operator."""
    return torch.nn.functional.conv2d(x, weight, bias, stride, padding, groups=len(weight))
