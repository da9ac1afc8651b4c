"""Selection of columns: y[i, j] = x[i, index[j]] (torch.index_select along the last axis)."""

import torch


def reference(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    """x: [rows, cols], index: [selected] int64 in [0, cols) -> y: [rows, selected]."""
    return x[:, index]


def functional(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    """The same through PyTorch's own operator."""
    return torch.index_select(x, 1, index)
