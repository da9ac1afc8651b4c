"""Draws random numbers for a bit more than half of a large mask, and uses most of them twice, a prime number of places
further on.

catalogue: [B14, C12]
hint: loss-partial-computation
aim: wrong
stopped_by: [contract]
twin: seeded_dropout
task: random/dropout
"""

import torch

FEW, PLACES = 1 << 15, 8209


def dropout(x, p, seed):
    count = x.numel()
    drawn = count if count < FEW else count // 2 + PLACES
    uniform = torch.rand(drawn, generator=torch.Generator().manual_seed(seed))
    uniform = torch.cat((uniform, uniform[: count - drawn])).view(x.shape)
    return torch.where(uniform >= p, x / (1 - p), 0.0)
