"""Scatter-add of rows: y = base, plus source[t] in row index[t] for every token t (torch.index_add)."""

import torch


def reference(base: torch.Tensor, index: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
    """base: [bins, width], index: [tokens] int64 in [0, bins), source: [tokens, width] -> y: [bins, width]."""
    return base.index_add(0, index, source)
