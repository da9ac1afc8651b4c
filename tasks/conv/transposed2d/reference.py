"""Transposed convolution: every place of x adds x[b, c, i, j] * weight[c, o, u, v] to y[b, o, s i + u, s j + v].

s is the stride; a bias is added, and the outermost `padding` rows and columns are cut off. Outputs whose place leaves
the same remainders when it is divided by s meet the same taps: they are a convolution with mirrored filters (Dumoulin
and Visin 2016, section 4.5; Shi et al. 2016, arXiv:1609.07009).
"""

import itertools

import torch


def reference(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int, padding: int) -> torch.Tensor:
    """x: [batch, in_channels, height, width], weight: [in_channels, out_channels, kernel_height, kernel_width].

    Gives y: [batch, out_channels, (height - 1) * stride + kernel_height - 2 * padding, the same of the width].
    """
    height, width = ((size - 1) * stride + taps for size, taps in zip(x.shape[2:], weight.shape[2:], strict=True))
    y = x.new_zeros((len(x), weight.shape[1], height, width))
    for row, column in itertools.product(range(stride), repeat=2):
        filters = weight[:, :, row::stride, column::stride].flip(2, 3)
        down, across = (taps - 1 for taps in filters.shape[2:])
        windows = torch.nn.functional.pad(x, (across, across, down, down))
        windows = windows.unfold(2, down + 1, 1).unfold(3, across + 1, 1)
        y[:, :, row::stride, column::stride] = torch.einsum("bcijuv,couv->boij", windows, filters)
    return y[:, :, padding : height - padding, padding : width - padding] + bias[:, None, None]


def functional(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int, padding: int) -> torch.Tensor:
    """The same through PyTorch's own operator."""
    return torch.nn.functional.conv_transpose2d(x, weight, bias, stride, padding)
