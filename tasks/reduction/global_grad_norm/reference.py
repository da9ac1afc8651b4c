"""Global norm of gradients: norm = sqrt(sum of g^2 over all elements of both) (Pascanu et al. 2013, algorithm 1)."""

import math

import torch


def reference(weight_grad: torch.Tensor, bias_grad: torch.Tensor) -> torch.Tensor:
    """weight_grad: [rows, cols], bias_grad: [count] -> norm: [].

    By the mean square of all elements, to which each tensor adds its share: sums would pass the largest float16.
    """
    gradients = (weight_grad, bias_grad)
    elements = sum(gradient.numel() for gradient in gradients)
    shares = [gradient.square().mean() * (gradient.numel() / elements) for gradient in gradients]
    return torch.stack(shares).sum().sqrt() * math.sqrt(elements)


def functional(weight_grad: torch.Tensor, bias_grad: torch.Tensor) -> torch.Tensor:
    """The same through PyTorch's own operators, a norm of norms, in float32 at least."""
    wide = torch.promote_types(weight_grad.dtype, torch.float32)
    norms = [torch.linalg.vector_norm(gradient, dtype=wide) for gradient in (weight_grad, bias_grad)]
    return torch.linalg.vector_norm(torch.stack(norms)).to(weight_grad.dtype)
