"""Mean Huber loss: mean of d^2 / 2 where |d| <= 1, and of |d| - 1/2 elsewhere, d = prediction - target (Huber 1964)."""

import torch


def reference(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """prediction, target: [rows, cols] -> loss: []."""
    distance = (prediction - target).abs()
    bounded = distance.clamp(max=1)
    return (bounded * (distance - 0.5 * bounded)).mean()


def functional(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The same through PyTorch's own operator."""
    return torch.nn.functional.huber_loss(prediction, target)
