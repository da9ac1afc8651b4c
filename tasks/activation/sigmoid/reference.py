"""Logistic sigmoid: y = 1 / (1 + exp(-x)) (Rumelhart, Hinton and Williams 1986, eq. 2)."""

import torch


def reference(x: torch.Tensor) -> torch.Tensor:
    """x: [rows, cols] -> y: [rows, cols]; infinities give 1 and 0."""
    return torch.sigmoid(x)
