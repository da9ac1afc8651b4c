"""Masked prefix sum: y[r, c] = sum of x[r, k] over the k <= c with mask[r, k] = 1 (Blelloch 1990, section 1.1)."""

import torch


def reference(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """x: [rows, cols], mask: [rows, cols] uint8, 0 or 1 -> y: [rows, cols].

    What the mask keeps out has no effect, even where it is NaN.
    """
    return torch.where(mask > 0, x, 0).cumsum(-1)


def float32_inside(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """The same with float32 sums, rounded once."""
    return torch.where(mask > 0, x, 0).cumsum(-1, dtype=torch.float32).to(x.dtype)
