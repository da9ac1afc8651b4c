"""Gradient of y = (x - mean) / sqrt(variance + 1e-5) * weight + bias (Ba, Kiros and Hinton 2016, eq. 3-4)."""

import torch

EPSILON = 1e-5


def reference(grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """grad_y, x: [rows, cols], weight: [cols] -> grad_x: [rows, cols], grad_weight: [cols], grad_bias: [cols].

    With r = 1 / sqrt(variance + eps), n = (x - mean) * r and g = grad_y * weight, the quotient rule gives
    grad_x = r * (g - mean(g) - n * mean(g * n)); grad_weight and grad_bias sum grad_y * n and grad_y over the rows.
    """
    centred = x - x.mean(-1, keepdim=True)
    scale = torch.rsqrt(centred.square().mean(-1, keepdim=True) + EPSILON)
    normed = centred * scale
    scaled = grad_y * weight
    projected = normed * (scaled * normed).mean(-1, keepdim=True)
    grad_x = scale * (scaled - scaled.mean(-1, keepdim=True) - projected)
    return grad_x, (grad_y * normed).sum(0), grad_y.sum(0)


def functional(grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """The same through automatic differentiation of PyTorch's own operator, its forward pass included."""
    with torch.enable_grad():
        leaves = (
            x.detach().requires_grad_(),
            weight.detach().requires_grad_(),
            torch.zeros_like(weight).requires_grad_(),
        )
        y = torch.nn.functional.layer_norm(leaves[0], weight.shape, leaves[1], leaves[2], EPSILON)
        return torch.autograd.grad(y, leaves, grad_y)
