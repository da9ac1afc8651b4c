"""Cross-entropy of class indices: loss = mean over rows of log(sum(exp(logits))) - logits[target].

Source: Goodfellow, Bengio and Courville 2016, Deep Learning, section 6.2.2.3 (negative log-likelihood of a softmax).
"""

import torch


def reference(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """logits: [rows, classes], target: [rows] int64 in [0, classes) -> loss: [], in nats."""
    shifted = logits - logits.amax(-1, keepdim=True)
    losses = shifted.exp().sum(-1).log() - shifted.gather(-1, target[:, None])[:, 0]
    return losses.mean()


def functional(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The same through PyTorch's own operator."""
    return torch.nn.functional.cross_entropy(logits, target)
