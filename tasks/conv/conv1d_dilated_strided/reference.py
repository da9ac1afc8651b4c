"""Convolution: y[b, o, i] = bias[o] + sum over c, u of x[b, c, 3 i + 4 u] * weight[o, c, u].

Dilation as in van den Oord et al. 2016, section 2.1, without padding; the convention of torch.nn.Conv1d.
"""

import torch

STRIDE, DILATION = 3, 4


def reference(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """x: [batch, in_channels, length], weight: [out_channels, in_channels, taps], bias: [out_channels].

    Gives y: [batch, out_channels, (length - 4 * (taps - 1) - 1) // 3 + 1].
    """
    windows = x.unfold(2, DILATION * (weight.shape[2] - 1) + 1, STRIDE)[..., ::DILATION]
    return torch.einsum("bciu,ocu->boi", windows, weight) + bias[:, None]


def functional(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The same through PyTorch's own operator."""
    return torch.nn.functional.conv1d(x, weight, bias, STRIDE, 0, DILATION)
