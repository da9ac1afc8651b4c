"""Transposed convolution: y[b, o, n] = bias[o] + sum over c and s i + t = n of x[b, c, i] * weight[c, o, t].

s is the stride. Outputs n = s q + r meet the taps r, r + s, ... alone: each r is a convolution with mirrored filters
(Dumoulin and Visin 2016, section 4.5; the convention of torch.nn.ConvTranspose1d).
"""

import torch


def reference(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int) -> torch.Tensor:
    """x: [batch, in_channels, length], weight: [in_channels, out_channels, taps], bias: [out_channels].

    Gives y: [batch, out_channels, (length - 1) * stride + taps].
    """
    taps = weight.shape[2]
    y = x.new_zeros((len(x), weight.shape[1], (x.shape[2] - 1) * stride + taps))
    for phase in range(min(stride, taps)):
        filters = weight[:, :, phase::stride].flip(2)
        reach = filters.shape[2] - 1
        windows = torch.nn.functional.pad(x, (reach, reach)).unfold(2, reach + 1, 1)
        y[:, :, phase::stride] = torch.einsum("bcnt,cot->bon", windows, filters)
    return y + bias[:, None]


def functional(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, stride: int) -> torch.Tensor:
    """The same through PyTorch's own operator."""
    return torch.nn.functional.conv_transpose1d(x, weight, bias, stride)
