"""Softsign: y = x / (1 + |x|) (Bergstra, Desjardins, Lamblin and Bengio 2009)."""

import torch


def reference(x: torch.Tensor) -> torch.Tensor:
    """x: [rows, cols] -> y: [rows, cols]."""
    return x / (1 + x.abs())


def functional(x: torch.Tensor) -> torch.Tensor:
    """The same through PyTorch's own operator."""
    return torch.nn.functional.softsign(x)
