"""Tensor times matrix: c[o, i, j, m] = sum over l of a[o, i, j, l] * b[l, m] (Kolda and Bader 2009, section 2.5)."""

import torch


def reference(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """a: [batch, height, width, k], b: [k, cols] -> c: [batch, height, width, cols]."""
    return a @ b


def functional(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The same as one product of two matrices."""
    return torch.mm(a.flatten(0, 2), b).unflatten(0, a.shape[:3])
