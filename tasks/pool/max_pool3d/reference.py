"""Max pooling of a volume: each output is the maximum of a cubic window (Tran et al. 2015, section 3.1).

Places outside of the volume count as minus infinity (the convention of torch.nn.MaxPool3d).
"""

import torch


def reference(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """x: [batch, channels, depth, height, width] -> y: [batch, channels, out_depth, out_height, out_width].

    out_depth = (depth + 2 * padding - kernel_size) // stride + 1, and likewise for the others; y is NaN where its
    window has a NaN.
    """
    padded = torch.nn.functional.pad(x, (padding,) * 6, value=float("-inf"))
    windows = padded.unfold(2, kernel_size, stride).unfold(3, kernel_size, stride).unfold(4, kernel_size, stride)
    return windows.amax((-3, -2, -1))


def functional(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """The same through PyTorch's own operator."""
    return torch.nn.functional.max_pool3d(x, kernel_size, stride, padding)
