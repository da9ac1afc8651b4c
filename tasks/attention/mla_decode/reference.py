"""Multi-head latent attention, one query for each sequence (DeepSeek-AI 2024, section 2.1, the projections absorbed).

Each row of the cache is a latent vector, the value of all heads, and a rotated part; both together are the key:
y = softmax(q cache^T / sqrt(rank + rope)) cache[:, :rank] over the first lengths[b] rows.
"""

import torch


def reference(q: torch.Tensor, cache: torch.Tensor, lengths: torch.Tensor, width: int) -> torch.Tensor:
    """q: [batch, heads, rank + rope], cache: [batch, capacity, rank + rope], lengths: [batch] int64, width: rank.

    Returns y: [batch, heads, rank]. A sequence of length 0 gets zeros.
    """
    hidden = torch.arange(cache.shape[1], device=q.device) >= lengths[:, None, None]
    scores = q @ cache.transpose(-2, -1) * q.shape[-1] ** -0.5
    weights = torch.softmax(scores.masked_fill(hidden, float("-inf")), -1)
    return weights.masked_fill(hidden, 0.0) @ cache[..., :width]


def functional(q: torch.Tensor, cache: torch.Tensor, lengths: torch.Tensor, width: int) -> torch.Tensor:
    """The same through PyTorch's own operator, the heads taken for queries of a single one."""
    visible = torch.arange(cache.shape[1], device=q.device) < lengths[:, None, None, None]
    keys, attention = cache.unsqueeze(1), torch.nn.functional.scaled_dot_product_attention
    y = attention(q.unsqueeze(1), keys, keys[..., :width], attn_mask=visible).squeeze(1)
    return y.masked_fill(lengths[:, None, None] == 0, 0.0)
