"""Product of a diagonal matrix and a dense one: c[i, j] = d[i] * b[i, j] (Golub and Van Loan 2013, section 1.2.6)."""

import torch


def reference(d: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """d: [rows], b: [rows, cols] -> c: [rows, cols]."""
    return d.unsqueeze(1) * b
