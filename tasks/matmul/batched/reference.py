"""Batched matrix product: c[b, i, j] = sum over l of a[b, i, l] * b[b, l, j]."""

import torch


def reference(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """a: [batch, m, k], b: [batch, k, n] -> c: [batch, m, n]."""
    return a @ b
