"""Product of two transposed matrices: c[i, j] = sum over l of a[l, i] * b[j, l] (Dongarra et al. 1990)."""

import torch


def reference(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """a: [k, m], b: [n, k] -> c: [m, n]."""
    return a.T @ b.T
