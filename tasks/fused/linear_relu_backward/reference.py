"""Gradient of y = max(x W^T + bias, 0), by the chain rule (Nair and Hinton 2010 for the rectifier).

With d = grad_y where y > 0 and zero elsewhere, grad_x = d W, grad_weight = d^T x, and grad_bias sums d over the batch.
"""

import torch


def reference(
    grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, y: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """grad_y, y: [batch, out_features], x: [batch, in_features], weight: [out_features, in_features].

    Gives grad_x, of the shape of x, grad_weight, of that of weight, and grad_bias: [out_features].
    """
    passed = torch.where(y > 0, grad_y, 0)
    return passed @ weight, passed.T @ x, passed.sum(0)


def functional(
    grad_y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, y: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The same through PyTorch's own operators."""
    passed = torch.ops.aten.threshold_backward(grad_y, y, 0)
    return torch.mm(passed, weight), torch.mm(passed.t(), x), passed.sum(0)
