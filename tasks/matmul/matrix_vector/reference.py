"""Product of a matrix and a vector: y[i] = sum over l of a[i, l] * x[l] (Golub and Van Loan 2013, section 1.1)."""

import torch


def reference(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """a: [m, k], x: [k] -> y: [m]."""
    return a @ x
