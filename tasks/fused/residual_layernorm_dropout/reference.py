"""Residual, layer normalisation and dropout with a given mask: y = mask * n / (1 - p).

n = (h - mean) / sqrt(variance + 1e-5) * weight + bias with h = x + residual (Ba, Kiros and Hinton 2016, eq. 3-4;
Srivastava et al. 2014, section 10). The mask is an input, so that there is one right answer.
"""

import torch

EPSILON = 1e-5


def reference(
    x: torch.Tensor,
    residual: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor,
    mask: torch.Tensor,
    p: float,
) -> torch.Tensor:
    """x, residual: [rows, cols], weight, bias: [cols], mask: [rows, cols] of zeros and ones -> y: [rows, cols].

    Mean and biased variance are taken over each row; a kernel may normalise h as it is or rounded to the dtype.
    """
    h = x + residual
    centred = h - h.mean(-1, keepdim=True)
    normed = centred * torch.rsqrt(centred.square().mean(-1, keepdim=True) + EPSILON) * weight + bias
    return normed * mask * (1 / (1 - p))


def functional(
    x: torch.Tensor,
    residual: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor,
    mask: torch.Tensor,
    p: float,
) -> torch.Tensor:
    """The same through PyTorch's own operator."""
    normed = torch.nn.functional.layer_norm(x + residual, weight.shape, weight, bias, EPSILON)
    return normed * mask * (1 / (1 - p))
