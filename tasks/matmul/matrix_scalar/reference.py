"""Matrix times scalar: c[i, j] = s * a[i, j] (Golub and Van Loan 2013, section 1.1)."""

import torch


def reference(a: torch.Tensor, s: float) -> torch.Tensor:
    """a: [rows, cols], s: any number -> c: [rows, cols]; s is not rounded to the dtype of a."""
    return a * s
