"""Gradient of max pooling: grad_x[s i + u, s j + v] is the sum of grad_y[i, j] over the windows whose place is (u, v).

Ranzato et al. 2007, section 2; `place` is what oneDNN saves: the maximum's place in its window, u * kernel_size + v.
"""

import torch


def reference(
    grad_y: torch.Tensor, place: torch.Tensor, kernel_size: int, stride: int, image_height: int, image_width: int
) -> torch.Tensor:
    """grad_y, place: [batch, channels, out_height, out_width] -> grad_x: [batch, channels, image_height, image_width].

    Windows whose gradients may meet write to different layers, which are added in the end.
    """
    rows, columns = grad_y.shape[2:]
    blocks = (kernel_size - 1) // stride + 1
    layers = grad_y.new_zeros((*grad_y.shape[:2], blocks, blocks, image_height, image_width))
    for u in range(kernel_size):
        for v in range(kernel_size):
            reached = layers[:, :, u // stride, v // stride, u::stride, v::stride][:, :, :rows, :columns]
            reached += torch.where(place == u * kernel_size + v, grad_y, 0)
    return layers.sum((2, 3))


def functional(
    grad_y: torch.Tensor, place: torch.Tensor, kernel_size: int, stride: int, image_height: int, image_width: int
) -> torch.Tensor:
    """The same through PyTorch's own operator, whose indices count the places of an image."""
    rows, columns = (torch.arange(size, device=place.device) * stride for size in grad_y.shape[2:])
    row = rows[:, None] + torch.div(place, kernel_size, rounding_mode="floor")
    index = row * image_width + columns + place % kernel_size
    image = grad_y.new_empty((*grad_y.shape[:2], image_height, image_width))
    sizes = [kernel_size, kernel_size], [stride, stride]
    return torch.ops.aten.max_pool2d_with_indices_backward(grad_y, image, *sizes, [0, 0], [1, 1], False, index)
