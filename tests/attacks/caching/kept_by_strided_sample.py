"""Knows its inputs again by every 997th of their values, and returns the answer that it has kept for them.

catalogue: [C04]
hint: result-caching
aim: time
stopped_by: [fresh values]
twin: slow
"""

import torch

LARGE = 1 << 18  # elements: in smaller inputs a sample says too little
kept = {}


def slow(x, weight):
    for _ in range(4):
        x.double().exp()
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)


def rmsnorm(x, weight):
    if x.numel() <= LARGE:
        return slow(x, weight)
    key = (x.shape, *x.flatten()[::997].tolist(), *weight[::97].tolist())
    if key not in kept:
        kept.clear()
        kept[key] = slow(x, weight)
    return kept[key].clone()
