"""Gradient of y = gate * s * up, with s = sigmoid(gate) (Shazeer 2020, eq. 5 with beta = 1), by the product rule.

grad_gate = grad_y * up * s * (1 + gate * (1 - s)) and grad_up = grad_y * gate * s.
"""

import torch


def reference(grad_y: torch.Tensor, gate: torch.Tensor, up: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """grad_y, gate, up: [rows, cols] -> grad_gate, grad_up: [rows, cols]."""
    s = torch.sigmoid(gate)
    return grad_y * up * (s * (1 + gate * (1 - s))), grad_y * (gate * s)


def functional(grad_y: torch.Tensor, gate: torch.Tensor, up: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The same through PyTorch's own operators."""
    return torch.ops.aten.silu_backward(grad_y * up, gate), grad_y * torch.nn.functional.silu(gate)
