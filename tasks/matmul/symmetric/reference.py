"""Product of a symmetric matrix and a dense one, c = (L + D + L^T) b, with L + D the lower triangle of a.

Source: Dongarra et al. 1990 (SYMM with the matrix on the left and UPLO = 'L', which does not reference the rest).
"""

import torch


def reference(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """a: [n, n], of which what stands above the diagonal is not used, b: [n, cols] -> c: [n, cols]."""
    return (a.tril() + a.tril(-1).T) @ b
