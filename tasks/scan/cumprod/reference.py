"""Inclusive prefix product: y[r, c] = x[r, 0] * ... * x[r, c] (Blelloch 1990, section 1.1)."""

import torch


def reference(x: torch.Tensor) -> torch.Tensor:
    """x: [rows, cols] -> y: [rows, cols]."""
    return x.cumprod(-1)


def float32_inside(x: torch.Tensor) -> torch.Tensor:
    """The same with float32 products, rounded once."""
    return x.cumprod(-1, dtype=torch.float32).to(x.dtype)
