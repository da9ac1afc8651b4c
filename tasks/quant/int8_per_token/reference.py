"""Symmetric quantisation of each token to eight bits: x ~ scale * (codes - 128), with the token's own scale.

scale is the smallest power of two, from 2^-126 on, with max |x| <= 127 * scale; that of a token of zeros is 1. As every
quotient by a power of two is exact, codes are the same whoever rounds them to the nearest, ties to even (the scales of
Rouhani et al. 2023; one for each token as in Dettmers et al. 2022).
"""

import torch


def reference(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """x: [tokens, width] -> codes: [tokens, width] uint8 from 1 to 255, 128 being zero; scale: [tokens] float32."""
    wide = x.float()  # exact, and NaN does not occur
    mantissa, exponent = torch.frexp(wide.abs().amax(-1, keepdim=True))  # the largest is mantissa * 2^exponent
    exponent = exponent - 7 + (mantissa > 127 / 128).int()
    exponent = torch.where(mantissa == 0, 0, exponent.clamp(min=-126))
    scale = ((exponent + 127) << 23).view(torch.float32)
    return (torch.round(wide / scale) + 128).to(torch.uint8), scale.squeeze(-1)
