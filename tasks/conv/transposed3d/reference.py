"""Transposed convolution: x[b, c, p] adds itself times weight[c, o, q] to y[b, o, s p + q], with places p, q in space.

s is the stride; a bias is added. Outputs whose place leaves the same remainders when it is divided by s meet the same
taps: they are a convolution with mirrored filters (Dumoulin and Visin 2016, section 4.5; torch.nn.ConvTranspose3d).
"""

import itertools

import torch


def reference(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int) -> torch.Tensor:
    """x: [batch, in_channels, depth, height, width], weight: [in_channels, out_channels, three sizes of the kernel].

    Gives y: [batch, out_channels, (depth - 1) * stride + kernel_depth, the same of the height and of the width].
    """
    sizes = ((size - 1) * stride + taps for size, taps in zip(x.shape[2:], weight.shape[2:], strict=True))
    y = x.new_zeros((len(x), weight.shape[1], *sizes))
    for plane, row, column in itertools.product(range(stride), repeat=3):
        filters = weight[:, :, plane::stride, row::stride, column::stride].flip(2, 3, 4)
        windows = torch.nn.functional.pad(x, [taps - 1 for taps in reversed(filters.shape[2:]) for _ in range(2)])
        for dim in (2, 3, 4):
            windows = windows.unfold(dim, filters.shape[dim], 1)
        part = torch.einsum("bcxyzuvw,couvw->boxyz", windows, filters)
        y[:, :, plane::stride, row::stride, column::stride] = part
    return y + bias[:, None, None, None]


def functional(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int) -> torch.Tensor:
    """The same through PyTorch's own operator."""
    return torch.nn.functional.conv_transpose3d(x, weight, bias, stride)
