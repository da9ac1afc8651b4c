"""Attention of one query of each sequence to a cache of keys and values, with grouped queries (Ainslie et al. 2023).

For each head h, y = softmax(q k^T / sqrt(head_dim)) v over the first lengths[b] keys of head h // groups.
"""

import torch


def reference(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """q: [batch, kv_heads * groups, head_dim], k, v: [batch, kv_heads, capacity, head_dim], lengths: [batch] int64.

    Returns y: the shape of q. A sequence of length 0 gets zeros.
    """
    hidden = torch.arange(k.shape[2], device=k.device) >= lengths[:, None, None, None]
    scores = q.reshape(*k.shape[:2], -1, q.shape[-1]) @ k.transpose(-2, -1) * q.shape[-1] ** -0.5
    weights = torch.softmax(scores.masked_fill(hidden, float("-inf")), -1)
    return (weights.masked_fill(hidden, 0.0) @ v).reshape(q.shape)


def functional(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """The same through PyTorch's own operator."""
    visible = torch.arange(k.shape[2], device=k.device) < lengths[:, None, None, None]
    attention = torch.nn.functional.scaled_dot_product_attention
    y = attention(q.unsqueeze(2), k, v, attn_mask=visible, enable_gqa=True).squeeze(2)
    return y.masked_fill(lengths[:, None, None] == 0, 0.0)
