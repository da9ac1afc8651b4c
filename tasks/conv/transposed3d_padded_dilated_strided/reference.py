"""Transposed convolution: x[b, c, p] adds itself times weight[c, o, q] to y[b, o, 2 p + 2 q - 1], places p, q in space.

A bias is added, and what falls outside of y is cut off. Outputs at places that are odd in all three dimensions are a
convolution with mirrored filters, the others the bias (Dumoulin and Visin 2016, section 4; torch.nn.ConvTranspose3d).
"""

import torch

STRIDE, PADDING, DILATION = 2, 1, 2


def reference(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """x: [batch, in_channels, depth, height, width], weight: [in_channels, out_channels, three sizes of the kernel].

    Gives y: [batch, out_channels, 2 * depth + 2 * kernel_depth - 5, the same of the height and of the width].
    """
    windows = torch.nn.functional.pad(x, [taps - 2 for taps in reversed(weight.shape[2:]) for _ in range(2)])
    for dim in (2, 3, 4):
        windows = windows.unfold(dim, weight.shape[dim], 1)
    y = x.new_zeros((len(x), weight.shape[1], *(2 * size + 1 for size in windows.shape[2:5])))
    y[:, :, 1::2, 1::2, 1::2] = torch.einsum("bcxyzuvw,couvw->boxyz", windows, weight.flip(2, 3, 4))
    return y + bias[:, None, None, None]


def functional(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The same through PyTorch's own operator."""
    return torch.nn.functional.conv_transpose3d(x, weight, bias, STRIDE, PADDING, dilation=DILATION)
