"""Gradient of y = x W^T + bias, by the chain rule: grad_x = g W, grad_weight = g^T x, and grad_bias sums g = grad_y."""

import torch


def reference(
    grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """grad_y: [batch, out_features], x: [batch, in_features], weight: [out_features, in_features].

    Gives grad_x, of the shape of x, grad_weight, of that of weight, and grad_bias: [out_features].
    """
    return grad_y @ weight, grad_y.T @ x, grad_y.sum(0)


def functional(
    grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The same through automatic differentiation of PyTorch's own operator, its forward pass included."""
    with torch.enable_grad():
        leaves = (x.detach().requires_grad_(), weight.detach().requires_grad_(), weight.new_zeros(len(weight)))
        leaves[2].requires_grad_()
        return torch.autograd.grad(torch.nn.functional.linear(*leaves), leaves, grad_y)
