"""Product of two lower triangular matrices: c[i, j] = sum over l from j to i of a[i, l] * b[l, j].

Source: Golub and Van Loan 2013, section 1.2.8.
"""

import torch


def reference(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """a, b: [n, n], of which what stands above the diagonal is not used -> c: [n, n] with zeros there."""
    return a.tril() @ b.tril()
