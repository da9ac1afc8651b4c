"""Dropout: y = x / (1 - p) with probability 1 - p, else 0, each element by itself (Srivastava et al. 2014, section 4).

Any source of random numbers will do: answers are judged by their distribution.
"""

import torch


def reference(x: torch.Tensor, p: float, seed: int) -> torch.Tensor:
    """x: [rows, cols], p: probability of a zero, seed: any integer -> y: [rows, cols]."""
    generator = torch.Generator(x.device).manual_seed(seed)
    kept = torch.rand(x.shape, generator=generator, device=x.device) >= p
    return torch.where(kept, x / (1 - p), 0.0)
