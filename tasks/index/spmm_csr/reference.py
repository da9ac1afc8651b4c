"""Product of a sparse matrix in compressed rows and a dense one: y[i] = sum over k in row i of value[k] x[column[k]].

Source: Saad 2003, Iterative methods for sparse linear systems, section 3.4.
"""

import torch


def reference(value: torch.Tensor, column: torch.Tensor, start: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """value, column: [entries], start: [rows + 1] int64, x: [cols, width] -> y: [rows, width].

    Row i has the entries start[i] to start[i + 1] - 1; a row may have the same column several times, or none at all.
    """
    rows = len(start) - 1
    row = torch.searchsorted(start, torch.arange(len(value), device=start.device), right=True) - 1
    terms = value.unsqueeze(1) * x[column]
    return x.new_zeros(rows, x.shape[1]).index_add_(0, row.clamp(max=rows - 1), terms)


def float32_inside(value: torch.Tensor, column: torch.Tensor, start: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """The same with float32 sums, rounded once."""
    return reference(value.float(), column, start, x.float()).to(x.dtype)
