"""Matrix product: c[i, j] = sum over l of a[i, l] * b[l, j]."""

import torch


def reference(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """a: [m, k], b: [k, n] -> c: [m, n]."""
    return a @ b
