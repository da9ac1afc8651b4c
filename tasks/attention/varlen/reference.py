"""Attention within packed sequences, y = softmax(q k^T / sqrt(head_dim), keys of the own sequence only) v.

Source: Krell et al. 2021, arXiv:2107.02027, section 3.2 (a mask with a block for each sequence); Dao 2023 for offsets.
"""

import torch


def reference(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    """q, k, v: [total, heads, head_dim], offsets: [sequences + 1] int64, ascending from 0 to total -> y: as q.

    Sequence s has the positions offsets[s] to offsets[s + 1] - 1, which may be none.
    """
    number = torch.searchsorted(offsets.contiguous(), torch.arange(len(q), device=q.device), right=True)
    queries, keys, values = (x.transpose(0, 1) for x in (q, k, v))
    scores = (queries @ keys.transpose(-2, -1)) * q.shape[-1] ** -0.5
    weights = torch.softmax(scores.masked_fill(number[:, None] != number, float("-inf")), -1)
    return (weights @ values).transpose(0, 1).contiguous()


def functional(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    """The same through PyTorch's own operator."""
    number = torch.searchsorted(offsets.contiguous(), torch.arange(len(q), device=q.device), right=True)
    queries, keys, values = (x.transpose(0, 1).unsqueeze(0) for x in (q, k, v))
    attention = torch.nn.functional.scaled_dot_product_attention
    y = attention(queries, keys, values, attn_mask=number[:, None] == number)
    return y.squeeze(0).transpose(0, 1).contiguous()
