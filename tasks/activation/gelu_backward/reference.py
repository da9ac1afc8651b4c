"""Gradient of GELU (Hendrycks and Gimpel 2016): grad_x = grad_y * (P(N <= x) + x p(x)), p the normal density.

As in activation/gelu, PyTorch's operator stands for the formula but in float64, the exact answer: there the probability
is by erfc, which keeps its digits where x is negative.
"""

import math

import torch


def reference(grad_y: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """grad_y, x: [rows, cols] -> grad_x: [rows, cols]."""
    if x.dtype == torch.float64:
        probability = 0.5 * torch.special.erfc(x * -math.sqrt(0.5))
        density = torch.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)
        return grad_y * (probability + x * density)
    return torch.ops.aten.gelu_backward(grad_y, x)
