"""Linear layer of eight-bit floating point: y = x_scale[b] weight_scale[o] sum x weight + bias (arXiv:2209.05433).

Codes are E4M3: a sign, four bits of exponent with a bias of 7, three of fraction, and no infinities.
"""

import torch


def reference(
    x: torch.Tensor, weight: torch.Tensor, x_scale: torch.Tensor, weight_scale: torch.Tensor, bias: torch.Tensor
) -> torch.Tensor:
    """x: [batch, in_features], weight: [out_features, in_features], both the bits of E4M3 as uint8; scales: float32.

    x_scale: [batch], weight_scale, bias: [out_features] -> y: [batch, out_features] in the dtype of bias. In halves the
    sums are float32, as those of every such kernel.
    """
    wide = torch.promote_types(bias.dtype, torch.float32)
    left, right = (codes.contiguous().view(torch.float8_e4m3fn).to(wide) for codes in (x, weight))
    return (left @ right.T * x_scale[:, None] * weight_scale + bias).to(bias.dtype)
