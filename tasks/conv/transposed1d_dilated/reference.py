"""Transposed convolution: y[b, o, n] = bias[o] + sum over c and t of x[b, c, n - 3 t] * weight[c, o, t].

Places outside of the signal hold zeros; it is a convolution with mirrored filters (Dumoulin and Visin 2016, section 4;
the convention of torch.nn.ConvTranspose1d).
"""

import torch

DILATION = 3


def reference(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """x: [batch, in_channels, length], weight: [in_channels, out_channels, taps], bias: [out_channels].

    Gives y: [batch, out_channels, length + 3 * (taps - 1)].
    """
    reach = DILATION * (weight.shape[2] - 1)
    windows = torch.nn.functional.pad(x, (reach, reach)).unfold(2, reach + 1, 1)[..., ::DILATION]
    return torch.einsum("bcnt,cot->bon", windows, weight.flip(2)) + bias[:, None]


def functional(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The same through PyTorch's own operator."""
    return torch.nn.functional.conv_transpose1d(x, weight, bias, dilation=DILATION)
