"""Affine map and rectifier: y = max(x W^T + bias, 0) (Nair and Hinton 2010 for the rectifier)."""

import torch


def reference(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """x: [batch, in_features], weight: [out_features, in_features], bias: [out_features] -> [batch, out_features]."""
    return torch.relu(x @ weight.T + bias)


def functional(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The same through PyTorch's own operators."""
    return torch.relu(torch.nn.functional.linear(x, weight, bias))
