"""Affine map: y = x W^T + bias, with one row of W for each output feature (the convention of torch.nn.Linear)."""

import torch


def reference(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """x: [batch, in_features], weight: [out_features, in_features], bias: [out_features] -> [batch, out_features]."""
    return x @ weight.T + bias


def functional(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The same through PyTorch's own operator."""
    return torch.nn.functional.linear(x, weight, bias)
