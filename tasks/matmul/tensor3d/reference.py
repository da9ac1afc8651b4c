"""Tensor times matrix: c[o, i, j] = sum over l of a[o, i, l] * b[l, j] (Kolda and Bader 2009, section 2.5)."""

import torch


def reference(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """a: [outer, rows, k], b: [k, cols] -> c: [outer, rows, cols]."""
    return a @ b


def functional(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The same as one product of two matrices."""
    return torch.mm(a.flatten(0, 1), b).unflatten(0, a.shape[:2])
