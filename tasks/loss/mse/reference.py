"""Mean squared error: loss = mean over all elements of (prediction - target)^2 (Gauss 1809, section 186)."""

import torch


def reference(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """prediction, target: [rows, cols] -> loss: []."""
    return (prediction - target).square().mean()


def functional(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The same through PyTorch's own operator."""
    return torch.nn.functional.mse_loss(prediction, target)
