"""Average pooling: y[b, c, i] = (sum over u of x[b, c, s i + u - p]) / k, k: window, s: stride, p: padding.

Places outside of the signal hold zeros that count as terms (LeCun et al. 1998, section II; torch.nn.AvgPool1d).
"""

import torch


def reference(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """x: [batch, channels, length] -> y: [batch, channels, (length + 2 * padding - kernel_size) // stride + 1]."""
    padded = torch.nn.functional.pad(x, (padding, padding))
    return padded.unfold(2, kernel_size, stride).mean(-1)


def functional(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    """The same through PyTorch's own operator."""
    return torch.nn.functional.avg_pool1d(x, kernel_size, stride, padding)
