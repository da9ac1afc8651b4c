"""Batch normalisation in training: y = (x - mean) / sqrt(variance + 1e-5) * weight + bias over each channel.

Source: Ioffe and Szegedy 2015, arXiv:1502.03167, algorithm 1; the running statistics move by a tenth, as in PyTorch.
"""

import torch

EPSILON = 1e-5
MOMENTUM = 0.1

Triple = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


def reference(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor,
    running_mean: torch.Tensor,
    running_var: torch.Tensor,
) -> Triple:
    """x: [batch, channels, height, width], the others: [channels] -> y: the shape of x, updated_mean, updated_var.

    y is made with the biased variance of the batch; updated_var takes in the unbiased one.
    """
    count = x.numel() // x.shape[1]
    mean = x.mean((0, 2, 3))
    centred = x - mean[:, None, None]
    variance = centred.square().mean((0, 2, 3))
    normed = centred * torch.rsqrt(variance + EPSILON)[:, None, None]
    updated_mean = (1 - MOMENTUM) * running_mean + MOMENTUM * mean
    updated_var = (1 - MOMENTUM) * running_var + MOMENTUM * (count / (count - 1)) * variance
    return normed * weight[:, None, None] + bias[:, None, None], updated_mean, updated_var


def functional(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor,
    running_mean: torch.Tensor,
    running_var: torch.Tensor,
) -> Triple:
    """The same through PyTorch's own operator, which writes into copies of the running statistics."""
    mean, variance = running_mean.clone(), running_var.clone()
    y = torch.nn.functional.batch_norm(x, mean, variance, weight, bias, True, MOMENTUM, EPSILON)
    return y, mean, variance
