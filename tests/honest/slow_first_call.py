"""A first call of every shape that takes long, as a compiler or a tuner would.

looks_like: [T22, C12]
"""

import time

import torch

seen = set()


def rmsnorm(x, weight):
    if x.shape not in seen:
        seen.add(x.shape)
        time.sleep(0.02)
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)
