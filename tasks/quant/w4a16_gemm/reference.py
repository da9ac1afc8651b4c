"""Linear layer with four-bit weights: y = x W^T, W = (code - zero) * scale in groups of 128 (Lin et al. 2023).

Byte j of a row of W holds the codes of columns 2 j, in its low half, and 2 j + 1.
"""

import torch

_GROUP = 128


def reference(x: torch.Tensor, packed: torch.Tensor, scale: torch.Tensor, zero: torch.Tensor) -> torch.Tensor:
    """x: [batch, 2 * pairs], packed: [out_features, pairs] uint8 -> y: [batch, out_features].

    scale, zero: [out_features, ceil(2 * pairs / 128)], zero as uint8. The last group of a row may be shorter.
    """
    codes = torch.stack((packed & 15, packed >> 4), -1).flatten(1)
    group = torch.arange(codes.shape[1], device=codes.device) // _GROUP
    weight = (codes.int() - zero.int()[:, group]) * scale[:, group]
    return x @ weight.T
