"""Mean hinge loss: mean of max(0, 1 - t * prediction), t = 1 where `positive` is 1, else -1 (Cortes, Vapnik 1995)."""

import torch


def reference(prediction: torch.Tensor, positive: torch.Tensor) -> torch.Tensor:
    """prediction: [rows, cols], positive: [rows, cols] uint8, 0 or 1 -> loss: []."""
    margin = torch.where(positive > 0, prediction, -prediction)
    return (1 - margin).clamp(min=0).mean()
