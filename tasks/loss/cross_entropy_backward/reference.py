"""Gradient of the mean cross-entropy of class indices: (softmax(logits) - onehot(target)) * grad_loss / rows.

Source: Goodfellow, Bengio and Courville 2016, Deep Learning, section 6.2.2.3 (negative log-likelihood of a softmax).
"""

import torch


def reference(grad_loss: torch.Tensor, logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """grad_loss: [], logits: [rows, classes], target: [rows] int64 in [0, classes) -> grad_logits: [rows, classes]."""
    rows, classes = logits.shape
    exponential = torch.exp(logits - logits.amax(-1, keepdim=True))
    probability = exponential / exponential.sum(-1, keepdim=True)
    hot = target[:, None] == torch.arange(classes, device=target.device)
    return torch.where(hot, probability - 1, probability) * (grad_loss / rows)


def functional(grad_loss: torch.Tensor, logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The same through automatic differentiation of PyTorch's own operator, its forward pass included."""
    with torch.enable_grad():
        leaf = logits.detach().requires_grad_()
        return torch.autograd.grad(torch.nn.functional.cross_entropy(leaf, target), leaf, grad_loss)[0]
