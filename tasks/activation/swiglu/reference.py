"""Gated swish: y = gate * sigmoid(gate) * up (Shazeer 2020, eq. 5 with beta = 1, both projections being given)."""

import torch


def reference(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    """gate, up: [rows, cols] -> y: [rows, cols]; PyTorch's silu(x) is x / (1 + exp(-x))."""
    return torch.nn.functional.silu(gate) * up
