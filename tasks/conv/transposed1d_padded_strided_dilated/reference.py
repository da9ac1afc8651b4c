"""Transposed convolution: y[b, o, n] = bias[o] + sum over c and 2 i + 2 t = n + 1 of x[b, c, i] * weight[c, o, t].

The stride is two, the taps are two places apart, and the first and the last output of all are cut off: outputs at odd
places are a convolution with mirrored filters, the others the bias (Dumoulin and Visin 2016, section 4; the convention
of torch.nn.ConvTranspose1d).
"""

import torch

STRIDE, PADDING, DILATION = 2, 1, 2


def reference(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """x: [batch, in_channels, length], weight: [in_channels, out_channels, taps], bias: [out_channels].

    Gives y: [batch, out_channels, 2 * (length - 1) + 2 * (taps - 1) - 1].
    """
    taps = weight.shape[2]
    windows = torch.nn.functional.pad(x, (taps - 2, taps - 2)).unfold(2, taps, 1)
    y = x.new_zeros((len(x), weight.shape[1], 2 * windows.shape[2] + 1))
    y[:, :, 1::2] = torch.einsum("bcnt,cot->bon", windows, weight.flip(2))
    return y + bias[:, None]


def functional(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The same through PyTorch's own operator."""
    return torch.nn.functional.conv_transpose1d(x, weight, bias, STRIDE, PADDING, dilation=DILATION)
