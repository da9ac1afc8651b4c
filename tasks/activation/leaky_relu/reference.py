"""Leaky rectifier: y = x where x > 0, and 0.01 x elsewhere (Maas, Hannun and Ng 2013, section 2)."""

import torch

SLOPE = 0.01


def reference(x: torch.Tensor) -> torch.Tensor:
    """x: [rows, cols] -> y: [rows, cols]."""
    return torch.where(x > 0, x, SLOPE * x)


def functional(x: torch.Tensor) -> torch.Tensor:
    """The same through PyTorch's own operator."""
    return torch.nn.functional.leaky_relu(x, SLOPE)
