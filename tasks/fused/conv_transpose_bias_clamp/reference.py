"""Transposed convolution with 3 x 3 filters and a stride of two, whose result is clamped to [0, 1].

z[b, o, n, m] = bias[o] + sum over c, 2 i + u = n + 1 and 2 j + v = m + 1 of x[b, c, i, j] * weight[c, o, u, v], twice
as high and as wide as x (Dumoulin and Visin 2016, arXiv:1603.07285, section 4.6; the convention of PyTorch's operator
with padding and output_padding of one). The chain begins problem 2 of KernelBench's level 2.
"""

import torch

STRIDE, KERNEL = 2, 3


def reference(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """x: [batch, in_channels, height, width], weight: [in_channels, out_channels, 3, 3], bias: [out_channels].

    Gives y: [batch, out_channels, 2 * height, 2 * width].
    """
    spread = x.new_zeros((*x.shape[:2], STRIDE * x.shape[2], STRIDE * x.shape[3]))
    spread[:, :, ::STRIDE, ::STRIDE] = x
    windows = torch.nn.functional.pad(spread, (1, 1, 1, 1)).unfold(2, KERNEL, 1).unfold(3, KERNEL, 1)
    z = torch.einsum("bcnmuv,couv->bonm", windows, weight.flip(2, 3)) + bias[:, None, None]
    return torch.clamp(z, 0, 1)


def functional(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The same through PyTorch's own operators."""
    return torch.nn.functional.conv_transpose2d(x, weight, bias, STRIDE, 1, 1).clamp(0, 1)
