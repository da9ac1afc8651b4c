"""Place of the smallest value of each row: x[r, index[r]] <= x[r, c] for all c; NaN counts as smaller than numbers."""

import torch


def reference(x: torch.Tensor) -> torch.Tensor:
    """x: [rows, cols] -> index: [rows] int64; of equal values any place is right."""
    return x.argmin(-1)
