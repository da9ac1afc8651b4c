"""Gradient of 3 x 3 convolution, rectifier and 2 x 2 max pooling, from the place of each window's maximum.

`place` is what a fused forward pass saves: row times two plus column of the maximum in its window, or 4 where the
rectifier left nothing. There, and nowhere else, the gradient d of the convolution's result is grad_y; by the chain rule
(LeCun et al. 1998) grad_weight and grad_bias sum over the places of d, and grad_x is its convolution with the mirrored
filters.
"""

import torch

KERNEL, WINDOW = 3, 2


def reference(
    grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, place: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """grad_y, place: [batch, out_channels, (height - 2) // 2, (width - 2) // 2], x: [batch, channels, height, width].

    weight: [out_channels, channels, 3, 3]. Gives grad_x, of the shape of x, grad_weight, of that of weight, and
    grad_bias: [out_channels].
    """
    height, width = grad_y.shape[2:]
    passed = grad_y.new_zeros((*grad_y.shape[:2], x.shape[2] - KERNEL + 1, x.shape[3] - KERNEL + 1))
    for u in range(WINDOW):
        for v in range(WINDOW):
            maxima = torch.where(place == u * WINDOW + v, grad_y, 0)
            passed[:, :, u::WINDOW, v::WINDOW][:, :, :height, :width] = maxima
    windows = x.unfold(2, KERNEL, 1).unfold(3, KERNEL, 1)
    grad_weight = torch.einsum("boij,bcijuv->ocuv", passed, windows)
    reached = torch.nn.functional.pad(passed, (KERNEL - 1,) * 4).unfold(2, KERNEL, 1).unfold(3, KERNEL, 1)
    grad_x = torch.einsum("bohwuv,ocuv->bchw", reached, weight.flip(2, 3))
    return grad_x, grad_weight, passed.sum((0, 2, 3))


def functional(
    grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, place: torch.Tensor
) -> tuple[torch.Tensor, ...]:
    """The same through PyTorch's own operators, whose indices count the places of an image."""
    rows, columns = (torch.arange(size, device=place.device) * WINDOW for size in grad_y.shape[2:])
    row = rows[:, None] + torch.div(place, WINDOW, rounding_mode="floor").clamp(max=1)
    index = row * (x.shape[3] - KERNEL + 1) + columns + place % WINDOW
    result = grad_y.new_empty((*grad_y.shape[:2], x.shape[2] - KERNEL + 1, x.shape[3] - KERNEL + 1))
    kept = grad_y.masked_fill(place == WINDOW * WINDOW, 0)
    sizes = [WINDOW, WINDOW], [WINDOW, WINDOW]
    passed = torch.ops.aten.max_pool2d_with_indices_backward(kept, result, *sizes, [0, 0], [1, 1], False, index)
    ones, zeros = [1, 1], [0, 0]
    return torch.ops.aten.convolution_backward(
        passed, x, weight, [len(weight)], ones, zeros, ones, False, zeros, 1, [True, True, True]
    )
