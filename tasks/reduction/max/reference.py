"""Maximum over an axis: y[i, j] = max over l of x[i, l, j]; NaN counts as larger than every number."""

import torch


def reference(x: torch.Tensor) -> torch.Tensor:
    """x: [outer, length, inner] -> y: [outer, inner]."""
    return x.amax(1)
