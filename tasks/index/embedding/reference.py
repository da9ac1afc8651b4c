"""Embedding: y[t] = weight[token[t]], a row of the table for each token (Bengio et al. 2003, section 2, C(i))."""

import torch


def reference(token: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """token: [tokens] int64 in [0, vocabulary), weight: [vocabulary, width] -> y: [tokens, width]."""
    return weight[token]


def functional(token: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """The same through PyTorch's own operator."""
    return torch.nn.functional.embedding(token, weight)
