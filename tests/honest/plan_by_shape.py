"""Remembers for every shape how many rows it takes at a time: what is kept depends on sizes and on no value.

looks_like: [C03, C12]
"""

import torch

plans = {}


def rmsnorm(x, weight):
    if x.shape not in plans:
        plans[x.shape] = max(1, 65536 // max(1, x.shape[1]))
    parts = x.split(plans[x.shape])
    return torch.cat([torch.nn.functional.rms_norm(part, weight.shape, weight, 1e-6) for part in parts])
