"""Causal attention: y = softmax(q k^T / sqrt(head_dim), keys up to the query only) v (Vaswani et al. 2017, eq. 1)."""

import torch


def reference(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """q, k, v: [batch, heads, length, head_dim] -> y: the same shape; position i attends to positions 0..i."""
    length, head_dim = q.shape[-2:]
    future = torch.ones(length, length, dtype=torch.bool, device=q.device).triu(1)
    scores = (q @ k.transpose(-2, -1)) * head_dim**-0.5
    return torch.softmax(scores.masked_fill(future, float("-inf")), -1) @ v


def functional(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The same through PyTorch's own operator."""
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
