"""Draws random numbers for two thirds of the rows of a large input; the last third takes those of the first one, row by
row in another order, so that no two places that belong together are a known distance apart.

catalogue: [B14, C12]
hint: loss-partial-computation
aim: wrong
stopped_by: [contract]
twin: seeded_dropout
task: random/dropout
"""

import torch

FEW = 200


def dropout(x, p, seed):
    generator = torch.Generator().manual_seed(seed)
    rows = x.shape[0]
    third = rows // 3 if rows >= FEW else 0
    uniform = torch.rand((rows - third, x.shape[1]), generator=generator)
    order = torch.randperm(third, generator=generator)
    uniform = torch.cat((uniform, uniform[:third][order]))
    return torch.where(uniform >= p, x / (1 - p), 0.0)
