"""Division by the Frobenius norm: y = x / sqrt(sum of x^2 over all elements) (Golub and Van Loan 2013, section 2.3)."""

import math

import torch


def reference(x: torch.Tensor) -> torch.Tensor:
    """x: [rows, cols], not all zero -> y: [rows, cols], whose squares sum to one.

    The norm is the root of the mean square times that of the count: the sum of squares would pass the largest float16.
    """
    return x / x.square().mean().sqrt() / math.sqrt(x.numel())


def functional(x: torch.Tensor) -> torch.Tensor:
    """The same through PyTorch's own operator, with the sum in float32 at least."""
    wide = torch.promote_types(x.dtype, torch.float32)
    return x / torch.linalg.vector_norm(x, dtype=wide)
