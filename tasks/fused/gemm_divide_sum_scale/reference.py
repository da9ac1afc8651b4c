"""Product, division by two, sum over the features and a factor: y = scale * sum over h of (x W^T)[:, h] / 2.

The chain is problem 14 of KernelBench's level 2. Whoever sums the rows of W first needs no product of matrices.
"""

import torch


def reference(x: torch.Tensor, weight: torch.Tensor, scale: float) -> torch.Tensor:
    """x: [batch, in_features], weight: [hidden, in_features] -> y: [batch]."""
    return (x @ weight.T / 2).sum(-1) * scale


def by_the_sum_of_weights(x: torch.Tensor, weight: torch.Tensor, scale: float) -> torch.Tensor:
    """The same as a product with the sum of the weights."""
    return torch.mv(x, weight.sum(0)) * (0.5 * scale)
