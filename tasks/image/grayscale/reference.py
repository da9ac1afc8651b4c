"""Luma: y = 0.299 red + 0.587 green + 0.114 blue (Recommendation ITU-R BT.601-7, section 2.5.1)."""

import torch

RED, GREEN, BLUE = 0.299, 0.587, 0.114


def reference(x: torch.Tensor) -> torch.Tensor:
    """x: [batch, 3, height, width], red, green and blue of any size and sign -> y: [batch, height, width]."""
    return RED * x[:, 0] + GREEN * x[:, 1] + BLUE * x[:, 2]
