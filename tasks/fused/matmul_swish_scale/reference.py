"""Affine map, swish and a factor: y = scale * z / (1 + exp(-z)) with z = x W^T + bias.

Ramachandran, Zoph and Le 2017, arXiv:1710.05941, for swish; the chain is problem 59 of KernelBench's level 2.
"""

import torch


def reference(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, scale: float) -> torch.Tensor:
    """x: [batch, in_features], weight: [out_features, in_features], bias: [out_features] -> [batch, out_features]."""
    z = x @ weight.T + bias
    return z * torch.sigmoid(z) * scale


def functional(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, scale: float) -> torch.Tensor:
    """The same through PyTorch's own operators."""
    return torch.nn.functional.silu(torch.nn.functional.linear(x, weight, bias)) * scale
