"""Gradient of the softmax (Bridle 1990): with p = softmax(x), grad_x = p * (grad_y - sum(grad_y * p)) over each row."""

import torch


def reference(grad_y: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """grad_y, x: [rows, cols] -> grad_x: [rows, cols]."""
    exponential = torch.exp(x - x.amax(-1, keepdim=True))
    probability = exponential / exponential.sum(-1, keepdim=True)
    return probability * (grad_y - (grad_y * probability).sum(-1, keepdim=True))


def functional(grad_y: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """The same through automatic differentiation of PyTorch's own operator, its forward pass included."""
    with torch.enable_grad():
        leaf = x.detach().requires_grad_()
        return torch.autograd.grad(torch.nn.functional.softmax(leaf, -1), leaf, grad_y)[0]
