"""Affine map with a residual: y = x W^T + bias + residual (He et al. 2016, eq. 1, with one layer in the branch)."""

import torch


def reference(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
    """x: [batch, in_features], weight: [out_features, in_features], bias: [out_features].

    residual: [batch, out_features] -> y: the shape of residual.
    """
    return x @ weight.T + bias + residual


def functional(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
    """The same through PyTorch's own operators."""
    return torch.nn.functional.linear(x, weight, bias) + residual
