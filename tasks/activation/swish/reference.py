"""Swish: y = x * sigmoid(x) (Ramachandran, Zoph and Le 2017, section 3, with beta = 1)."""

import torch


def reference(x: torch.Tensor) -> torch.Tensor:
    """x: [rows, cols] -> y: [rows, cols]; sigmoid(x) = 1 / (1 + exp(-x))."""
    return x * torch.sigmoid(x)


def functional(x: torch.Tensor) -> torch.Tensor:
    """The same through PyTorch's own operator."""
    return torch.nn.functional.silu(x)
