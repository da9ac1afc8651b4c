"""Product of a transposed matrix and another: c[i, j] = sum over l of a[l, i] * b[l, j] (Dongarra et al. 1990)."""

import torch


def reference(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """a: [k, m], b: [k, n] -> c: [m, n]."""
    return a.T @ b
