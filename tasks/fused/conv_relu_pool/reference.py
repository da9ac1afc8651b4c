"""Convolution with 3 x 3 filters, rectifier and 2 x 2 max pooling: the first layer of a network for handwritten digits.

z[b, o, i, j] = bias[o] + sum over c, u, v of x[b, c, i + u, j + v] * weight[o, c, u, v]; y is the maximum of max(z, 0)
over windows of two by two that do not overlap (LeCun et al. 1998, section II; robust-kbench's mnist_conv_relu_pool).
"""

import torch

KERNEL, WINDOW = 3, 2


def reference(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """x: [batch, in_channels, height, width], weight: [out_channels, in_channels, 3, 3], bias: [out_channels].

    Gives y: [batch, out_channels, (height - 2) // 2, (width - 2) // 2].
    """
    windows = x.unfold(2, KERNEL, 1).unfold(3, KERNEL, 1)
    z = torch.relu(torch.einsum("bcijuv,ocuv->boij", windows, weight) + bias[:, None, None])
    return z.unfold(2, WINDOW, WINDOW).unfold(3, WINDOW, WINDOW).amax((-2, -1))


def functional(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The same through PyTorch's own operators."""
    z = torch.relu(torch.nn.functional.conv2d(x, weight, bias))
    return torch.nn.functional.max_pool2d(z, WINDOW)
