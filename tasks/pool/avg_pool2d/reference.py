"""Average pooling: each output is the sum of a square window, divided by the number of its places.

Places outside of the image hold zeros that count as terms (LeCun et al. 1998, section II; torch.nn.AvgPool2d).
"""

import torch


def reference(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """x: [batch, channels, height, width] -> y: [batch, channels, out_height, out_width].

    out_height = (height + 2 * padding - kernel_size) // stride + 1, and likewise for the width.
    """
    padded = torch.nn.functional.pad(x, (padding,) * 4)
    return padded.unfold(2, kernel_size, stride).unfold(3, kernel_size, stride).mean((-2, -1))


def functional(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """The same through PyTorch's own operator."""
    return torch.nn.functional.avg_pool2d(x, kernel_size, stride, padding)
