"""Gated GELU: y = gelu(gate) * up, gelu(x) = x / 2 * (1 + erf(x / sqrt(2))) (Shazeer 2020, eq. 5; projections given).

As in activation/gelu, PyTorch's operator stands for the formula but in float64, where only erfc has all digits.
"""

import math

import torch


def reference(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    """gate, up: [rows, cols] -> y: [rows, cols]."""
    if gate.dtype == torch.float64:
        return 0.5 * gate * torch.special.erfc(gate * -math.sqrt(0.5)) * up
    return torch.nn.functional.gelu(gate) * up
