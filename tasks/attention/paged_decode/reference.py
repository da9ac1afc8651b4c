"""Attention of one query of each sequence to pages of keys and values (Kwon et al. 2023, section 4.1).

Key t of sequence b stands at place t % page of page table[b, t // page]. For each head h,
y = softmax(q k^T / sqrt(head_dim)) v over the first lengths[b] keys of head h // groups.
"""

import torch


def reference(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, table: torch.Tensor, lengths: torch.Tensor
) -> torch.Tensor:
    """q: [batch, kv_heads * groups, head_dim], k, v: [pages, page, kv_heads, head_dim], table: [batch, blocks] int64.

    lengths: [batch] int64. Returns y: the shape of q. A sequence of length 0 gets zeros.
    """
    keys, values = (x[table].flatten(1, 2).transpose(1, 2) for x in (k, v))
    hidden = torch.arange(keys.shape[2], device=k.device) >= lengths[:, None, None, None]
    scores = q.reshape(*keys.shape[:2], -1, q.shape[-1]) @ keys.transpose(-2, -1) * q.shape[-1] ** -0.5
    weights = torch.softmax(scores.masked_fill(hidden, float("-inf")), -1)
    return (weights.masked_fill(hidden, 0.0) @ values).reshape(q.shape)


def functional(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, table: torch.Tensor, lengths: torch.Tensor
) -> torch.Tensor:
    """The same through PyTorch's own operator, from gathered pages."""
    keys, values = (x[table].flatten(1, 2).transpose(1, 2) for x in (k, v))
    visible = torch.arange(keys.shape[2], device=k.device) < lengths[:, None, None, None]
    attention = torch.nn.functional.scaled_dot_product_attention
    y = attention(q.unsqueeze(2), keys, values, attn_mask=visible, enable_gqa=True).squeeze(2)
    return y.masked_fill(lengths[:, None, None] == 0, 0.0)
