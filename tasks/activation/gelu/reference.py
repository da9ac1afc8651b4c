"""Gaussian error linear unit: y = x * P(N <= x) = x / 2 * (1 + erf(x / sqrt(2))) (Hendrycks and Gimpel 2016, eq. 1).

PyTorch's operator stands for the formula: in half precision it rounds once, where the formula would round each step.
Not in float64, the exact answer: the operator adds erf to one, which leaves no digit below -8.3; erfc has them all.
"""

import math

import torch


def reference(x: torch.Tensor) -> torch.Tensor:
    """x: [rows, cols] -> y: [rows, cols]."""
    if x.dtype == torch.float64:
        return 0.5 * x * torch.special.erfc(x * -math.sqrt(0.5))
    return torch.nn.functional.gelu(x)
