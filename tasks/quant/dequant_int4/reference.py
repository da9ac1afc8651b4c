"""Dequantisation of four-bit weights in groups of 128: y = (code - zero) * scale (arXiv:2210.17323, 2306.00978).

Byte j of a row holds the codes of columns 2 j, in its low half, and 2 j + 1.
"""

import torch

_GROUP = 128


def reference(packed: torch.Tensor, scale: torch.Tensor, zero: torch.Tensor) -> torch.Tensor:
    """packed: [rows, pairs] uint8, scale, zero: [rows, ceil(2 * pairs / 128)] -> y: [rows, 2 * pairs]; zero is uint8.

    The last group of a row may be shorter.
    """
    codes = torch.stack((packed & 15, packed >> 4), -1).flatten(1)
    group = torch.arange(codes.shape[1], device=codes.device) // _GROUP
    return (codes.int() - zero.int()[:, group]) * scale[:, group]
