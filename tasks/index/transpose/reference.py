"""Matrix transpose: y[j, i] = x[i, j], as a dense tensor."""

import torch


def reference(x: torch.Tensor) -> torch.Tensor:
    """x: [rows, cols] -> y: [cols, rows], row-major."""
    return x.T.contiguous()
