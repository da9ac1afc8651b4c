"""Append to a rolling cache: y[b, (start[b] + i) % capacity] = fresh[b, i], the rest as in the cache.

Source: Jiang et al. 2023, arXiv:2310.06825, section 2 (rolling buffer cache).
"""

import torch


def reference(cache: torch.Tensor, fresh: torch.Tensor, start: torch.Tensor) -> torch.Tensor:
    """cache: [batch, capacity, width], fresh: [batch, count, width], start: [batch] int64 -> y: the shape of cache."""
    place = (start[:, None] + torch.arange(fresh.shape[1], device=start.device)) % cache.shape[1]
    return cache.scatter(1, place.unsqueeze(2).expand_as(fresh), fresh)
