"""Affine map and Gaussian error linear unit: y = z * P(N <= z), z = x W^T + bias (Hendrycks and Gimpel 2016, eq. 1).

PyTorch's operator stands for z / 2 * (1 + erf(z / sqrt(2))): in half precision it rounds once instead of at each step.
"""

import torch


def reference(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """x: [batch, in_features], weight: [out_features, in_features], bias: [out_features] -> [batch, out_features]."""
    return torch.nn.functional.gelu(x @ weight.T + bias)


def functional(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The same through PyTorch's own operators."""
    return torch.nn.functional.gelu(torch.nn.functional.linear(x, weight, bias))
