"""Transposed convolution: x[b, c, p] adds itself times weight[c, o, q] to y[b, o, 2 p + q - (1, 2, 3)], p, q in space.

A channel adds to the filters of its own group. A bias is added, and what falls outside of y is cut off; y reaches one
place further than what is cut off at the far ends would leave (output padding). Outputs at places of the same parities
meet the same taps: they are a convolution with mirrored filters (Dumoulin and Visin 2016, section 4.5;
torch.nn.ConvTranspose3d).
"""

import itertools

import torch

STRIDE, PADDING, OUTPUT_PADDING = 2, (1, 2, 3), 1


def reference(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, num_groups: int) -> torch.Tensor:
    """x: [batch, in_channels, depth, height, width], weight: [in_channels, group's out_channels, sizes of the kernel].

    bias: [out_channels]. Gives y: [batch, out_channels, 2 * depth + kernel_depth - 3, 2 * height + kernel_height - 5,
    2 * width + kernel_width - 7].
    """
    sizes = [STRIDE * (size - 1) + taps for size, taps in zip(x.shape[2:], weight.shape[2:], strict=True)]
    whole = x.new_zeros((len(x), len(bias), *(size + OUTPUT_PADDING for size in sizes)))
    y = whole[:, :, : sizes[0], : sizes[1], : sizes[2]]
    for plane, row, column in itertools.product(range(STRIDE), repeat=3):
        filters = weight[:, :, plane::STRIDE, row::STRIDE, column::STRIDE].flip(2, 3, 4)
        windows = torch.nn.functional.pad(x, [taps - 1 for taps in reversed(filters.shape[2:]) for _ in range(2)])
        for dim in (2, 3, 4):
            windows = windows.unfold(dim, filters.shape[dim], 1)
        operands = windows.unflatten(1, (num_groups, -1)), filters.unflatten(0, (num_groups, -1))
        part = torch.einsum("bgcxyzuvw,gcouvw->bgoxyz", *operands)
        y[:, :, plane::STRIDE, row::STRIDE, column::STRIDE] = part.flatten(1, 2)
    return whole[:, :, 1:-1, 2:-2, 3:-3] + bias[:, None, None, None]


def functional(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, num_groups: int) -> torch.Tensor:
    """The same through PyTorch's own operator."""
    return torch.nn.functional.conv_transpose3d(x, weight, bias, STRIDE, PADDING, OUTPUT_PADDING, num_groups)
