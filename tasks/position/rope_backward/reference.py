"""Gradient of rotary embedding by halves: the opposite turn (Su et al. 2021, arXiv:2104.09864, eq. 34)."""

import torch


def reference(grad_y: torch.Tensor, position: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """grad_y: [tokens, heads, 2 * half], position: [tokens] int64, cos, sin: [positions, half] -> grad_x: as grad_y.

    With y = (a cos - b sin, b cos + a sin), the gradients of a and b are (g cos + h sin, h cos - g sin).
    """
    c, s = cos[position].unsqueeze(1), sin[position].unsqueeze(1)
    first, second = grad_y.chunk(2, -1)
    return torch.cat((first * c + second * s, second * c - first * s), -1)
