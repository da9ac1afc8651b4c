"""Softmax: y = exp(x) / sum(exp(x)) over each row (Bridle 1990), shifted by the row's maximum against overflow."""

import torch


def reference(x: torch.Tensor) -> torch.Tensor:
    """x: [rows, cols] -> y: [rows, cols]; every row of y sums to one."""
    exponential = torch.exp(x - x.amax(-1, keepdim=True))
    return exponential / exponential.sum(-1, keepdim=True)


def functional(x: torch.Tensor) -> torch.Tensor:
    """The same through PyTorch's own operator."""
    return torch.nn.functional.softmax(x, -1)
