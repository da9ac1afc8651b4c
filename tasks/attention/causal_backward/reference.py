"""Gradient of causal attention (Dao et al. 2022, appendix B.2), of weights p = softmax(q k^T scale, earlier keys only).

With dp = grad_y v^T and ds = p * (dp - sum(p * dp)) over each row, grad_q = scale ds k, grad_k = scale ds^T q and
grad_v = p^T grad_y, where scale = 1 / sqrt(head_dim).
"""

import torch


def reference(
    grad_y: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """grad_y, q, k, v: [batch, heads, length, head_dim] -> grad_q, grad_k, grad_v: the same shape each."""
    length, head_dim = q.shape[-2:]
    scale = head_dim**-0.5
    future = torch.ones(length, length, dtype=torch.bool, device=q.device).triu(1)
    scores = (q @ k.transpose(-2, -1)) * scale
    weights = torch.softmax(scores.masked_fill(future, float("-inf")), -1)
    grad_weights = grad_y @ v.transpose(-2, -1)
    grad_scores = weights * (grad_weights - (weights * grad_weights).sum(-1, keepdim=True)) * scale
    return grad_scores @ k, grad_scores.transpose(-2, -1) @ q, weights.transpose(-2, -1) @ grad_y


def functional(
    grad_y: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The same through automatic differentiation of PyTorch's own operator, its forward pass included."""
    with torch.enable_grad():
        leaves = [tensor.detach().requires_grad_() for tensor in (q, k, v)]
        y = torch.nn.functional.scaled_dot_product_attention(*leaves, is_causal=True)
        grad_q, grad_k, grad_v = torch.autograd.grad(y, leaves, grad_y)
    return grad_q, grad_k, grad_v
