"""Max pooling without padding: each output is the maximum of a square window (Ranzato et al. 2007, section 2)."""

import torch


def reference(x: torch.Tensor, kernel_size: int, stride: int) -> torch.Tensor:
    """x: [batch, channels, height, width] -> y: [batch, channels, out_height, out_width].

    out_height = (height - kernel_size) // stride + 1, and likewise for the width; y is NaN where its window has a NaN.
    """
    windows = x.unfold(2, kernel_size, stride).unfold(3, kernel_size, stride)
    return windows.amax((-2, -1))


def functional(x: torch.Tensor, kernel_size: int, stride: int) -> torch.Tensor:
    """The same through PyTorch's own operator."""
    return torch.nn.functional.max_pool2d(x, kernel_size, stride)
