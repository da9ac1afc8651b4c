"""Attention with linear biases: y = scores + slope * (place of the key - place of the query) (Press et al. 2021)."""

import torch


def reference(scores: torch.Tensor, slope: torch.Tensor) -> torch.Tensor:
    """scores: [heads, queries, keys], slope: [heads] -> y: the shape of scores; queries stand at the last positions."""
    queries, keys = scores.shape[1:]
    query = torch.arange(keys - queries, keys, device=scores.device)
    distance = torch.arange(keys, device=scores.device) - query[:, None]
    return scores + slope[:, None, None] * distance
