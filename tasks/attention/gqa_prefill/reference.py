"""Causal attention with grouped queries: head h attends to the keys of head h // groups (Ainslie et al. 2023).

For each head y = softmax(q k^T / sqrt(head_dim), keys up to the query only) v.
"""

import torch


def reference(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """q: [batch, kv_heads * groups, length, head_dim], k, v: [batch, kv_heads, length, head_dim] -> y: the shape of q.

    The queries of a group stand one below the other, so that no key is copied.
    """
    length, head_dim = q.shape[-2:]
    queries = q.reshape(*k.shape[:2], -1, head_dim)
    scores = (queries @ k.transpose(-2, -1)).unflatten(-2, (-1, length)) * head_dim**-0.5
    future = torch.ones(length, length, dtype=torch.bool, device=q.device).triu(1)
    weights = torch.softmax(scores.masked_fill(future, float("-inf")), -1)
    return (weights.flatten(-3, -2) @ v).reshape(q.shape)


def functional(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The same through PyTorch's own operator."""
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
