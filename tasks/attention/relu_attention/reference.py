"""Attention with a rectifier: y = max(q k^T / sqrt(head_dim), 0) v / keys (Wortsman et al. 2023, section 3)."""

import torch


def reference(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """q: [batch, heads, queries, head_dim], k, v: [batch, heads, keys, head_dim] -> y: the shape of q."""
    scores = (q @ k.transpose(-2, -1)) * q.shape[-1] ** -0.5
    return torch.relu(scores) @ v / k.shape[-2]
