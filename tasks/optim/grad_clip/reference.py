"""Clipping by the global norm: n = sqrt(sum of g^2 over all elements of both), g' = g min(1, max_norm / (n + 1e-6)).

Source: Pascanu, Mikolov and Bengio 2013, algorithm 1; the 1e-6 is torch.nn.utils.clip_grad_norm_'s.
"""

import torch

EPSILON = 1e-6


def reference(
    weight_grad: torch.Tensor, bias_grad: torch.Tensor, max_norm: float
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """weight_grad: [rows, cols], bias_grad: [count], max_norm > 0 -> both of them scaled, and the norm before that.

    In float32 at least: a norm that is rounded to halves moves all elements together.
    """
    dtype = weight_grad.dtype
    wide = torch.promote_types(dtype, torch.float32)
    gradients = [gradient.to(wide) for gradient in (weight_grad, bias_grad)]
    norm = torch.stack([gradient.square().sum() for gradient in gradients]).sum().sqrt()
    factor = (max_norm / (norm + EPSILON)).clamp(max=1.0)
    weights, biases = ((gradient * factor).to(dtype) for gradient in gradients)
    return weights, biases, norm.to(dtype)


def functional(
    weight_grad: torch.Tensor, bias_grad: torch.Tensor, max_norm: float
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The same through PyTorch's own operators, a norm of norms, in float32 at least."""
    wide = torch.promote_types(weight_grad.dtype, torch.float32)
    norms = [torch.linalg.vector_norm(gradient, dtype=wide) for gradient in (weight_grad, bias_grad)]
    norm = torch.linalg.vector_norm(torch.stack(norms))
    factor = torch.clamp(max_norm / (norm + EPSILON), max=1.0)
    return weight_grad * factor, bias_grad * factor, norm.to(weight_grad.dtype)
