"""Average pooling of a volume: each output is the sum of a cubic window, divided by the number of its places.

Places outside of the volume hold zeros that count as terms (the convention of torch.nn.AvgPool3d).
"""

import torch


def reference(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """x: [batch, channels, depth, height, width] -> y: [batch, channels, out_depth, out_height, out_width].

    out_depth = (depth + 2 * padding - kernel_size) // stride + 1, and likewise for the others.
    """
    padded = torch.nn.functional.pad(x, (padding,) * 6)
    windows = padded.unfold(2, kernel_size, stride).unfold(3, kernel_size, stride).unfold(4, kernel_size, stride)
    return windows.mean((-3, -2, -1))


def functional(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """The same through PyTorch's own operator, which a processor has in float32 alone."""
    if x.is_cuda or x.dtype == torch.float32:
        return torch.nn.functional.avg_pool3d(x, kernel_size, stride, padding)
    return torch.nn.functional.avg_pool3d(x.float(), kernel_size, stride, padding).to(x.dtype)
