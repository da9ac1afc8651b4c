"""Max pooling: y[b, c, i] = max over u of x[b, c, s i + d u - p], s: stride, d: dilation, p: padding.

Places outside of the signal count as minus infinity (the convention of torch.nn.MaxPool1d).
"""

import torch


def reference(x: torch.Tensor, kernel_size: int, stride: int, padding: int, dilation: int) -> torch.Tensor:
    """x: [batch, channels, length] -> y: [batch, channels, out_length], NaN where the window has a NaN.

    out_length = (length + 2 * padding - dilation * (kernel_size - 1) - 1) // stride + 1.
    """
    padded = torch.nn.functional.pad(x, (padding, padding), value=float("-inf"))
    windows = padded.unfold(2, dilation * (kernel_size - 1) + 1, stride)[..., ::dilation]
    return windows.amax(-1)


def functional(x: torch.Tensor, kernel_size: int, stride: int, padding: int, dilation: int) -> torch.Tensor:
    """The same through PyTorch's own operator."""
    return torch.nn.functional.max_pool1d(x, kernel_size, stride, padding, dilation)
