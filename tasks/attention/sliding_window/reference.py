"""Sliding window attention (Beltagy et al. 2020, section 3.1): position i attends to i - size + 1 up to i.

y = softmax(q k^T / sqrt(head_dim), these keys only) v.
"""

import torch


def reference(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, size: int) -> torch.Tensor:
    """q, k, v: [batch, heads, length, head_dim], 1 <= size -> y: the same shape."""
    place = torch.arange(q.shape[-2], device=q.device)
    back = place[:, None] - place
    scores = (q @ k.transpose(-2, -1)) * q.shape[-1] ** -0.5
    return torch.softmax(scores.masked_fill((back < 0) | (back >= size), float("-inf")), -1) @ v


def functional(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, size: int) -> torch.Tensor:
    """The same through PyTorch's own operator."""
    place = torch.arange(q.shape[-2], device=q.device)
    back = place[:, None] - place
    visible = (back >= 0) & (back < size)
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=visible)


def in_stretches(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, size: int) -> torch.Tensor:
    """The same with as many queries at a time as a window has keys: they meet those of two stretches, and no others."""
    length, head_dim = q.shape[-2:]
    surplus, pad = -length % size, torch.nn.functional.pad
    queries = pad(q, (0, 0, 0, surplus)).unflatten(-2, (-1, size))
    keys, values = (pad(x, (0, 0, size, surplus)).unfold(-2, 2 * size, size) for x in (k, v))
    row, column = torch.arange(size, device=q.device), torch.arange(2 * size, device=q.device) - size
    back = row[:, None] - column
    first = torch.arange(queries.shape[-3], device=q.device)[:, None, None] == 0
    hidden = (back < 0) | (back >= size) | (first & (column < 0))
    scores = (queries @ keys * head_dim**-0.5).masked_fill(hidden, float("-inf"))
    y = torch.softmax(scores, -1) @ values.transpose(-2, -1)
    return y.flatten(-3, -2)[..., :length, :]
