"""Rotary embedding of neighbours: (a, b) -> (a cos - b sin, b cos + a sin) (Su et al. 2021, eq. 34)."""

import torch


def reference(x: torch.Tensor, position: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """x: [tokens, heads, 2 * half], position: [tokens] int64, cos, sin: [positions, half] -> y: the shape of x.

    Elements 2i and 2i + 1 of a head are turned by the angle in column i of row `position` of the tables.
    """
    c, s = cos[position].unsqueeze(1), sin[position].unsqueeze(1)
    even, odd = x[..., ::2], x[..., 1::2]
    return torch.stack((even * c - odd * s, odd * c + even * s), -1).flatten(-2)
