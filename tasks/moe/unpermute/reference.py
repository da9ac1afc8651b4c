"""Combination of experts: y[t] = sum over j of weight[t, j] * x[place[t, j]] (Gale et al. 2022, section 5.2)."""

import torch


def reference(x: torch.Tensor, place: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """x: [tokens * chosen, width], place, weight: [tokens, chosen], place int64 -> y: [tokens, width]."""
    return (x[place] * weight.unsqueeze(2)).sum(1)


def functional(x: torch.Tensor, place: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """The same as a batch of products of matrices."""
    return torch.bmm(weight.unsqueeze(1), x[place]).squeeze(1)
