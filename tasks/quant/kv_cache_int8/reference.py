"""Attention of one query to a cache of eight-bit keys and values: y = softmax(q K^T / sqrt(head_dim)) V.

K = k_scale (k - 128) and V = v_scale (v - 128), with one scale for each key and each value of each head (in the
manner of Hooper et al. 2024).
"""

import torch


def reference(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, k_scale: torch.Tensor, v_scale: torch.Tensor
) -> torch.Tensor:
    """q: [batch, heads, head_dim], k, v: [batch, heads, length, head_dim] uint8, their scales: [batch, heads, length].

    Returns y: the shape and dtype of q. Keys and values become numbers of that dtype.
    """
    keys, values = (
        ((codes.float() - 128) * scale.unsqueeze(-1)).to(q.dtype) for codes, scale in ((k, k_scale), (v, v_scale))
    )
    scores = (keys @ q.unsqueeze(-1)).squeeze(-1) * q.shape[-1] ** -0.5
    return (torch.softmax(scores, -1).unsqueeze(-2) @ values).squeeze(-2)
