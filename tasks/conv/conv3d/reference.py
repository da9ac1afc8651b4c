"""Convolution: y[b, o, p] = bias[o] + sum over c, q of x[b, c, p + q - 1] * weight[o, c, q], with places p, q in space.

Places outside of the volume hold zeros (Tran et al. 2015, section 3.1; the convention of torch.nn.Conv3d).
"""

import torch

PADDING = 1


def reference(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """x: [batch, in_channels, depth, height, width], weight: [out_channels, in_channels, three sizes of the kernel].

    Gives y: [batch, out_channels, depth + 3 - kernel_depth, height + 3 - kernel_height, width + 3 - kernel_width].
    """
    windows = torch.nn.functional.pad(x, (PADDING,) * 6)
    for dim in (2, 3, 4):
        windows = windows.unfold(dim, weight.shape[dim], 1)
    return torch.einsum("bcxyzuvw,ocuvw->boxyz", windows, weight) + bias[:, None, None, None]


def functional(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The same through PyTorch's own operator."""
    return torch.nn.functional.conv3d(x, weight, bias, 1, PADDING)
