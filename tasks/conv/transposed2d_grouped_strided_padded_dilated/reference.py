"""Transposed convolution: x[b, c, i, j] adds itself times weight[c, o, u, v] to y[b, o, 2 i + 2 u - 1, 3 j + v - 2].

A channel adds to the filters of its own group. A bias is added, and what falls outside of y is cut off. Only odd rows
of y have products, and every third column meets the same taps, so that these are a convolution with mirrored filters
(Dumoulin and Visin 2016, section 4.5; Shi et al. 2016, arXiv:1609.07009; torch.nn.ConvTranspose2d).
"""

import torch

STRIDE, PADDING, DILATION = (2, 3), (1, 2), (2, 1)


def reference(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, num_groups: int) -> torch.Tensor:
    """x: [batch, in_channels, height, width], weight: [in_channels, group's out_channels, two sizes of the kernel].

    bias: [out_channels]. Gives y: [batch, out_channels, 2 * height + 2 * kernel_height - 5,
    3 * width + kernel_width - 7].
    """
    height, width = 2 * (x.shape[2] + weight.shape[2]) - 3, 3 * (x.shape[3] - 1) + weight.shape[3]
    y = x.new_zeros((len(x), len(bias), height, width))
    down = weight.shape[2] - 1
    for phase in range(3):
        filters = weight[..., phase::3].flip(2, 3).unflatten(0, (num_groups, -1))
        across = filters.shape[4] - 1
        windows = torch.nn.functional.pad(x, (across, across, down, down)).unflatten(1, (num_groups, -1))
        windows = windows.unfold(3, down + 1, 1).unfold(4, across + 1, 1)
        y[:, :, ::2, phase::3] = torch.einsum("bgcijuv,gcouv->bgoij", windows, filters).flatten(1, 2)
    return y[:, :, 1:-1, 2:-2] + bias[:, None, None]


def functional(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, num_groups: int) -> torch.Tensor:
    """The same through PyTorch's own operator."""
    return torch.nn.functional.conv_transpose2d(x, weight, bias, STRIDE, PADDING, 0, num_groups, DILATION)
