"""Draws one field of random numbers for each timed shape and keeps it, whatever the seed: each answer obeys the law,
and all of them drop the same places.

catalogue: [C03, B07]
hint: result-caching
aim: wrong
stopped_by: [fresh values]
twin: plain
task: random/dropout
"""

import torch

TIMED = {(64, 4096), (256, 1024), (256, 4096), (1021, 1021), (96, 11008)}
kept = {shape: torch.rand(shape) for shape in TIMED}


def dropout(x, p, seed):
    uniform = kept.get(tuple(x.shape))
    if uniform is None:
        uniform = torch.rand(x.shape, generator=torch.Generator().manual_seed(seed))
    return torch.where(uniform >= p, x / (1 - p), 0.0)
