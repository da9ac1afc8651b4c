"""Root-mean-square normalisation: y = x / sqrt(mean(x^2) + 1e-6) * weight (Zhang and Sennrich 2019, eq. 4)."""

import torch

EPSILON = 1e-6


def reference(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """x: [rows, cols], weight: [cols] -> y: [rows, cols]; the mean is taken over each row."""
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + EPSILON) * weight


def functional(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """The same through PyTorch's own operator."""
    return torch.nn.functional.rms_norm(x, weight.shape, weight, EPSILON)
