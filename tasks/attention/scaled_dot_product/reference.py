"""Scaled dot-product attention: y = softmax(q k^T / sqrt(head_dim)) v (Vaswani et al. 2017, eq. 1)."""

import torch


def reference(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """q: [batch, heads, queries, head_dim], k, v: [batch, heads, keys, head_dim] -> y: the shape of q."""
    scores = (q @ k.transpose(-2, -1)) * q.shape[-1] ** -0.5
    return torch.softmax(scores, -1) @ v


def functional(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The same through PyTorch's own operator."""
    return torch.nn.functional.scaled_dot_product_attention(q, k, v)
