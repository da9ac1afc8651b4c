"""Keeps the inputs of the last call where the next one could look at them, and never does.

looks_like: [C01, C05]
"""

import torch

last = None


def rmsnorm(x, weight):
    global last
    last = (x, weight)
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)
