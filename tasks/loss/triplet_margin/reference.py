"""Triplet loss: mean over rows of max(0, |anchor - positive| - |anchor - negative| + 1) (Schroff et al. 2015, eq. 3).

With distances and not their squares, as in torch.nn.TripletMarginLoss.
"""

import math

import torch

MARGIN = 1.0


def _distance(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Of each row: by the mean of the squares, whose sum would pass the largest float16."""
    return (one - other).square().mean(-1).sqrt() * math.sqrt(one.shape[-1])


def reference(anchor: torch.Tensor, positive: torch.Tensor, negative: torch.Tensor) -> torch.Tensor:
    """anchor, positive, negative: [rows, cols] -> loss: []."""
    return (_distance(anchor, positive) - _distance(anchor, negative) + MARGIN).clamp(min=0).mean()


def functional(anchor: torch.Tensor, positive: torch.Tensor, negative: torch.Tensor) -> torch.Tensor:
    """The same with PyTorch's own norm, whose sums are in float32 at least."""
    wide = torch.promote_types(anchor.dtype, torch.float32)
    near, far = (torch.linalg.vector_norm(anchor - other, dim=-1, dtype=wide) for other in (positive, negative))
    return (near - far + MARGIN).clamp(min=0).mean().to(anchor.dtype)
