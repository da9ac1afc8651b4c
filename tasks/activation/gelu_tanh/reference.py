"""GELU by a tangent: y = x / 2 * (1 + tanh(u)), u = sqrt(2 / pi) * (x + 0.044715 x^3) (Hendrycks and Gimpel 2016).

PyTorch's operator stands for the formula: in half precision it rounds once, where the formula would round each step.
Not in float64, the exact answer: 1 + tanh(u) has few digits where x is negative; 2 sigmoid(2u), which it is, has all.
"""

import math

import torch


def reference(x: torch.Tensor) -> torch.Tensor:
    """x: [rows, cols] -> y: [rows, cols]."""
    if x.dtype == torch.float64:
        return x * torch.sigmoid(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))
    return torch.nn.functional.gelu(x, approximate="tanh")
