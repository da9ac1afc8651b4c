"""Draws as many random numbers as there are elements from a generator of its own, which begins with the given seed.

looks_like: [O25, C12]
task: random/dropout
"""

import torch


def dropout(x, p, seed):
    uniform = torch.rand(tuple(x.shape), generator=torch.Generator().manual_seed(seed))
    return torch.where(uniform >= p, x / (1 - p), 0.0)
