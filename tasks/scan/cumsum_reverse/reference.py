"""Inclusive suffix sum: y[r, c] = x[r, c] + x[r, c + 1] + ... to the end (Blelloch 1990, section 1.1, backwards)."""

import torch


def reference(x: torch.Tensor) -> torch.Tensor:
    """x: [rows, cols] -> y: [rows, cols]."""
    return x.flip(-1).cumsum(-1).flip(-1)


def float32_inside(x: torch.Tensor) -> torch.Tensor:
    """The same with float32 sums, rounded once."""
    return x.flip(-1).cumsum(-1, dtype=torch.float32).flip(-1).to(x.dtype)
