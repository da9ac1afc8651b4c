"""Residual and root-mean-square normalisation: h = x + residual, y = h / sqrt(mean(h^2) + 1e-6) * weight.

Source: Zhang and Sennrich 2019, arXiv:1910.07467, eq. 4. h is returned, too: the next block adds to it.
"""

import torch

EPSILON = 1e-6


def reference(x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """x, residual: [rows, cols], weight: [cols] -> y, updated_residual: [rows, cols].

    A kernel may normalise h as it is or as it is stored, rounded to the dtype.
    """
    h = x + residual
    return h * torch.rsqrt(h.square().mean(-1, keepdim=True) + EPSILON) * weight, h


def functional(x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The same through PyTorch's own operator."""
    h = x + residual
    return torch.nn.functional.rms_norm(h, weight.shape, weight, EPSILON), h
