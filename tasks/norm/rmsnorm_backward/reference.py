"""Gradient of y = x / sqrt(mean(x^2) + 1e-6) * weight (Zhang and Sennrich 2019, eq. 4) for x and weight."""

import torch

EPSILON = 1e-6


def reference(grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """grad_y, x: [rows, cols], weight: [cols] -> grad_x: [rows, cols], grad_weight: [cols].

    With r = 1 / sqrt(mean(x^2) + eps) and g = grad_y * weight, the quotient rule gives
    grad_x = r * (g - x * r^2 * mean(g * x)) and grad_weight = sum over the rows of grad_y * x * r.
    """
    scale = torch.rsqrt(x.square().mean(-1, keepdim=True) + EPSILON)
    normed = x * scale
    scaled = grad_y * weight
    grad_x = scale * (scaled - normed * (scaled * normed).mean(-1, keepdim=True))
    return grad_x, (grad_y * normed).sum(0)


def functional(grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """The same through automatic differentiation of PyTorch's own operator, its forward pass included."""
    with torch.enable_grad():
        leaves = x.detach().requires_grad_(), weight.detach().requires_grad_()
        y = torch.nn.functional.rms_norm(leaves[0], weight.shape, leaves[1], EPSILON)
        return torch.autograd.grad(y, leaves, grad_y)
