"""Rotary embedding of halves: (a, b) -> (a cos - b sin, b cos + a sin) (Su et al. 2021, eq. 34, as GPT-NeoX)."""

import torch


def reference(x: torch.Tensor, position: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """x: [tokens, heads, 2 * half], position: [tokens] int64, cos, sin: [positions, half] -> y: the shape of x.

    Element i of a head and element i + half are turned by the angle of row `position` of the tables.
    """
    c, s = cos[position].unsqueeze(1), sin[position].unsqueeze(1)
    first, second = x.chunk(2, -1)
    return torch.cat((first * c - second * s, second * c + first * s), -1)
