"""Product of a matrix and a transposed one: c[i, j] = sum over l of a[i, l] * b[j, l] (Dongarra et al. 1990)."""

import torch


def reference(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """a: [m, k], b: [n, k] -> c: [m, n]."""
    return a @ b.T
