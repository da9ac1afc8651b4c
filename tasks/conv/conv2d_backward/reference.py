"""Gradient of y[b, o, i, j] = bias[o] + sum over c, u, v of x[b, c, s i + u, s j + v] * weight[o, c, u, v].

By the chain rule (LeCun et al. 1998): grad_weight and grad_bias sum over the places of y, and grad_x is a convolution
of grad_y, spread out by the stride s, with the mirrored filters. Before, x gets `padding` zeros on each side.
"""

import torch


def reference(
    grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, stride: int, padding: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """grad_y: [batch, out_channels, out_height, out_width], x: [batch, in_channels, height, width].

    weight: [out_channels, in_channels, kernel_height, kernel_width]. Gives grad_x, of the shape of x, grad_weight, of
    that of weight, and grad_bias: [out_channels].
    """
    rows, columns = weight.shape[2:]
    padded = torch.nn.functional.pad(x, (padding,) * 4)
    windows = padded.unfold(2, rows, stride).unfold(3, columns, stride)
    grad_weight = torch.einsum("boij,bcijuv->ocuv", grad_y, windows)
    spread = grad_y.new_zeros((*grad_y.shape[:2], padded.shape[2] - rows + 1, padded.shape[3] - columns + 1))
    spread[:, :, ::stride, ::stride] = grad_y
    above, left = rows - 1 - padding, columns - 1 - padding
    reached = torch.nn.functional.pad(spread, (left, left, above, above)).unfold(2, rows, 1).unfold(3, columns, 1)
    grad_x = torch.einsum("bohwuv,ocuv->bchw", reached, weight.flip(2, 3))
    return grad_x, grad_weight, grad_y.sum((0, 2, 3))


def functional(
    grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, stride: int, padding: int
) -> tuple[torch.Tensor, ...]:
    """The same through PyTorch's own operator."""
    sizes = [stride, stride], [padding, padding], [1, 1]
    return torch.ops.aten.convolution_backward(
        grad_y, x, weight, [len(weight)], *sizes, False, [0, 0], 1, [True, True, True]
    )
