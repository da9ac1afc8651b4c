"""Convolution: y[b, o, i, j] = bias[o] + sum over c, u, v of x[b, c, i + 2 u - 2, j + 3 v - 4] * weight[o, c, u, v].

Places outside of the image hold zeros. Dilation as in Yu and Koltun 2016, eq. 2; the convention of torch.nn.Conv2d.
"""

import torch

PADDING, DILATION = (2, 4), (2, 3)


def reference(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """x: [batch, in_channels, height, width], weight: [out_channels, in_channels, kernel_height, kernel_width].

    Gives y: [batch, out_channels, height + 4 - 2 * (kernel_height - 1), width + 8 - 3 * (kernel_width - 1)].
    """
    windows = torch.nn.functional.pad(x, (PADDING[1], PADDING[1], PADDING[0], PADDING[0]))
    for axis, dilation in enumerate(DILATION):
        windows = windows.unfold(2 + axis, dilation * (weight.shape[2 + axis] - 1) + 1, 1)[..., ::dilation]
    return torch.einsum("bcijuv,ocuv->boij", windows, weight) + bias[:, None, None]


def functional(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The same through PyTorch's own operator."""
    return torch.nn.functional.conv2d(x, weight, bias, 1, PADDING, DILATION)
