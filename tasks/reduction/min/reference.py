"""Minimum over an axis: y[i, j] = min over l of x[i, l, j]; NaN counts as smaller than every number."""

import torch


def reference(x: torch.Tensor) -> torch.Tensor:
    """x: [outer, length, inner] -> y: [outer, inner]."""
    return x.amin(1)
