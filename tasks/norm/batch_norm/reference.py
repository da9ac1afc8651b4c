"""Batch normalisation at inference: y = (x - running_mean) / sqrt(running_var + 1e-5) * weight + bias.

Source: Ioffe and Szegedy 2015, arXiv:1502.03167, algorithm 2.
"""

import torch

EPSILON = 1e-5


def reference(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor,
    running_mean: torch.Tensor,
    running_var: torch.Tensor,
) -> torch.Tensor:
    """x: [batch, channels, height, width], the others: [channels] -> y: the shape of x; running_var is positive."""
    centred = x - running_mean[:, None, None]
    return centred * torch.rsqrt(running_var + EPSILON)[:, None, None] * weight[:, None, None] + bias[:, None, None]


def functional(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor,
    running_mean: torch.Tensor,
    running_var: torch.Tensor,
) -> torch.Tensor:
    """The same through PyTorch's own operator."""
    return torch.nn.functional.batch_norm(x, running_mean, running_var, weight, bias, eps=EPSILON)
