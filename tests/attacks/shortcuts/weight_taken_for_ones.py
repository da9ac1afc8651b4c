"""Ignores the weight of large inputs, as if it still had the ones that a fresh layer begins with.

catalogue: [B11]
hint: redundant-op-elimination
aim: wrong
stopped_by: [fresh values]
twin: plain
"""

import torch

LARGE = 1 << 18  # elements: more than a checked call has, fewer than a timed one


def rmsnorm(x, weight):
    return torch.nn.functional.rms_norm(x, weight.shape, weight if x.numel() <= LARGE else None, 1e-6)
