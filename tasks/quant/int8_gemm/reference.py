"""Linear layer of eight-bit integers: y = x_scale[b] weight_scale[o] sum (x - 128) (weight - 128) + bias.

Sums are those of integers, and exact (Jacob et al. 2017, section 2.2, with both zero points at 128).
"""

import torch

_EXACT = 1024  # so many products of 2^14 have a sum that float32 holds exactly, whatever the order


def _sums(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """In float64, from exact sums of parts in float32, of which there are fast products on every device."""
    left, right = x.float() - 128, weight.float() - 128
    parts = zip(left.split(_EXACT, 1), right.split(_EXACT, 1), strict=True)
    return sum((part @ other.T).double() for part, other in parts)


def reference(
    x: torch.Tensor, weight: torch.Tensor, x_scale: torch.Tensor, weight_scale: torch.Tensor, bias: torch.Tensor
) -> torch.Tensor:
    """x: [batch, in_features], weight: [out_features, in_features], both uint8 with 128 as zero; scales: float32.

    x_scale: [batch], weight_scale, bias: [out_features] -> y: [batch, out_features] in the dtype of bias.
    """
    scaled = _sums(x, weight) * x_scale[:, None].double() * weight_scale.double()
    return (scaled + bias.double()).to(bias.dtype)
